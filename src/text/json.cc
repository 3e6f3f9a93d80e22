#include "text/json.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "base/check.h"
#include "text/utf8_stream.h"

namespace hearth {
namespace {

std::string well_formed(std::string_view text) {
  Utf8Stream stream;
  std::string out = stream.push(text);
  out += stream.flush();
  return out;
}

}  // namespace

Json& Json::object() {
  writer_.StartObject();
  return *this;
}

Json& Json::end_object() {
  writer_.EndObject();
  return *this;
}

Json& Json::array() {
  writer_.StartArray();
  return *this;
}

Json& Json::end_array() {
  writer_.EndArray();
  return *this;
}

Json& Json::key(std::string_view name) { return text(name); }

Json& Json::text(std::string_view value) {
  std::string clean = well_formed(value);
  writer_.String(clean.data(), static_cast<rapidjson::SizeType>(clean.size()));
  return *this;
}

Json& Json::boolean(bool value) {
  writer_.Bool(value);
  return *this;
}

Json& Json::null() {
  writer_.Null();
  return *this;
}

Json& Json::number(uint64_t value) {
  writer_.Uint64(value);
  return *this;
}

Json& Json::integer(int64_t value) {
  writer_.Int64(value);
  return *this;
}

Json& Json::real(double value) {
  if (!std::isfinite(value)) return null();
  writer_.Double(value);
  return *this;
}

Json& Json::real(float value) {
  return real(std::strtod(fmt::format("{}", value).c_str(), nullptr));
}

std::string Json::line() const {
  HEARTH_CHECK(writer_.IsComplete(), "a JSON value has its end");
  return std::string(buffer_.GetString(), buffer_.GetSize()) + "\n";
}

}  // namespace hearth
