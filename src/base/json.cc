#include "base/json.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "base/check.h"
#include "base/utf8_stream.h"

namespace hearth {
namespace {}  // namespace

Json& Json::text(std::string_view value) {
  std::string clean = well_formed_utf8(value);
  return written(writer_.String(clean.data(), static_cast<rapidjson::SizeType>(clean.size())));
}

Json& Json::text_or_null(const std::optional<std::string>& value) {
  return value ? text(*value) : null();
}

Json& Json::real(double value) {
  return std::isfinite(value) ? written(writer_.Double(value)) : null();
}

Json& Json::real(float value) {
  return real(std::strtod(fmt::format("{}", value).c_str(), nullptr));
}

std::string Json::take() {
  std::string piece(buffer_.GetString(), buffer_.GetSize());
  buffer_.Clear();
  return piece;
}

std::string Json::line() const {
  HEARTH_CHECK(writer_.IsComplete(), "a JSON value has its end");
  return std::string(buffer_.GetString(), buffer_.GetSize()) + "\n";
}

}  // namespace hearth
