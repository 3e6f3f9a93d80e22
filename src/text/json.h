// Json: RapidJSON's writer, made safe for what a model or a file can hold: text that is not UTF-8
// gets U+FFFD in its place, numbers that JSON does not have (nan, inf) become null. One value, on
// one line. Calls chain; their order must make a complete value.
//
//   Json json;
//   json.object().key("id").number(7).key("text").text(piece).end_object();
//   write_stdout(json.line());
#pragma once

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace hearth {

class Json {
 public:
  Json& object();
  Json& end_object();
  Json& array();
  Json& end_array();
  Json& key(std::string_view name);

  Json& text(std::string_view value);
  Json& boolean(bool value);
  Json& null();
  Json& number(uint64_t value);
  Json& integer(int64_t value);
  Json& real(double value);
  // With the digits that tell a float from its neighbours, not those of its double.
  Json& real(float value);

  // The value and a newline. It must be complete.
  std::string line() const;

 private:
  rapidjson::StringBuffer buffer_;
  rapidjson::Writer<rapidjson::StringBuffer> writer_{buffer_};
};

}  // namespace hearth
