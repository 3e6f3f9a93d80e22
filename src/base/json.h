// Json: RapidJSON's writer, made safe for what a model or a file can hold: text that is not UTF-8
// gets U+FFFD in its place, numbers that JSON does not have (nan, inf) become null. One value, on
// one line. Calls chain; their order must make a complete value. Where there is no memory for more,
// a call throws std::bad_alloc.
//
//   Json json;
//   json.object().key("id").number(7).key("text").text(piece).end_object();
//   write_stdout(json.line());
#pragma once

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json_memory.h"

namespace hearth {

class Json {
 public:
  Json& object() { return written(writer_.StartObject()); }
  Json& end_object() { return written(writer_.EndObject()); }
  Json& array() { return written(writer_.StartArray()); }
  Json& end_array() { return written(writer_.EndArray()); }
  Json& key(std::string_view name) { return text(name); }

  Json& text(std::string_view value);
  Json& boolean(bool value) { return written(writer_.Bool(value)); }
  Json& null() { return written(writer_.Null()); }
  Json& number(uint64_t value) { return written(writer_.Uint64(value)); }
  Json& integer(int64_t value) { return written(writer_.Int64(value)); }
  Json& real(double value);
  // Writes the shortest digits that identify the float, not those of its double.
  Json& real(float value);

  // Write the value, or null if there is no value.
  Json& text_or_null(const std::optional<std::string>& value);
  Json& number(const std::optional<uint64_t>& value) { return value ? number(*value) : null(); }
  Json& real(const std::optional<double>& value) { return value ? real(*value) : null(); }

  // Returns the value and a newline. The value must be complete.
  std::string line() const;

  // Removes and returns the bytes written so far, for a value in pieces; size() is their number.
  // The last ones have no newline.
  std::string take();
  size_t size() const { return buffer_.GetSize(); }

 private:
  // Ignores the writer's result: line() finds a wrong order of calls.
  Json& written(bool) { return *this; }

  using Buffer = rapidjson::GenericStringBuffer<rapidjson::UTF8<>, JsonMemory>;
  using Writer = rapidjson::Writer<Buffer, rapidjson::UTF8<>, rapidjson::UTF8<>, JsonMemory>;

  Buffer buffer_;
  Writer writer_{buffer_};
};

}  // namespace hearth
