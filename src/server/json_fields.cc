#include "server/json_fields.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "base/json_reader.h"

namespace hearth {
namespace {

[[noreturn]] void refuse_value(const std::string& param, const std::string& predicate) {
  throw RequestError(kInvalidValue, param, predicate);
}

// Returns the number as an integer; nothing where int64_t cannot hold it. `value` must be a number.
std::optional<int64_t> exact_integer(const boost::json::value& value) {
  if (value.is_int64()) return value.get_int64();
  if (value.is_uint64()) return {};
  double number = value.get_double();
  if (!(number >= -0x1p63 && number < 0x1p63)) return {};
  return static_cast<int64_t>(number);
}

}  // namespace

boost::json::object read_object(std::string_view body, uint32_t depth) {
  boost::json::value value;
  try {
    value = read_json(body, depth);
  } catch (const Error& error) {
    throw RequestError(ApiError{400,
                                "invalid_request_error",
                                std::string(kInvalidJson),
                                std::string("the body cannot be read: ") + error.what(),
                                {},
                                {}});
  }
  if (!value.is_object()) {
    throw RequestError(
        ApiError{400,
                 "invalid_request_error",
                 std::string(kInvalidType),
                 fmt::format("the body is {}; it must be an object", kind_text(value)),
                 {},
                 {}});
  }
  return std::move(value.get_object());
}

const boost::json::value* find_field(const boost::json::object& object, std::string_view name) {
  const boost::json::value* value = object.if_contains(name);
  return value == nullptr || value->is_null() ? nullptr : value;
}

const boost::json::value& require_field(const boost::json::object& object, std::string_view name,
                                        const std::string& param) {
  const boost::json::value* value = find_field(object, name);
  if (value == nullptr) throw RequestError(kMissingField, param, "is missing");
  return *value;
}

bool bool_field(const boost::json::value& value, const std::string& param) {
  if (!value.is_bool()) refuse_type(value, param, "true or false");
  return value.get_bool();
}

std::string text_field(const boost::json::value& value, const std::string& param) {
  if (!value.is_string()) refuse_type(value, param, "a string");
  return {value.get_string().data(), value.get_string().size()};
}

int64_t integer_field(const boost::json::value& value, const std::string& param, int64_t low,
                      int64_t high) {
  if (!value.is_number()) refuse_type(value, param, "an integer");
  if (value.is_double() && value.get_double() != std::trunc(value.get_double())) {
    throw RequestError(kInvalidType, param,
                       fmt::format("is {}; it must be an integer", value.get_double()));
  }
  std::optional<int64_t> number = exact_integer(value);
  if (!number || *number < low || *number > high) {
    std::string shown = value.is_double()   ? fmt::format("{}", value.get_double())
                        : value.is_uint64() ? fmt::format("{}", value.get_uint64())
                                            : fmt::format("{}", value.get_int64());
    refuse_value(param, fmt::format("is {}; it must lie between {} and {}", shown, low, high));
  }
  return *number;
}

double real_field(const boost::json::value& value, const std::string& param, double low,
                  double high) {
  if (!value.is_number()) refuse_type(value, param, "a number");
  double number = value.to_number<double>();
  if (!(number >= low && number <= high)) {
    refuse_value(param, fmt::format("is {}; it must lie between {} and {}", number, low, high));
  }
  return number;
}

const boost::json::object& object_field(const boost::json::value& value, const std::string& param) {
  if (!value.is_object()) refuse_type(value, param, "an object");
  return value.get_object();
}

const boost::json::array& array_field(const boost::json::value& value, const std::string& param,
                                      size_t low, size_t high) {
  if (!value.is_array()) refuse_type(value, param, "an array");
  const boost::json::array& array = value.get_array();
  if (array.size() < low) {
    refuse_value(param, fmt::format("has {} entries; it must have at least {}", array.size(), low));
  }
  if (array.size() > high) {
    refuse_value(param, fmt::format("has {} entries; it may have at most {}", array.size(), high));
  }
  return array;
}

int32_t token_field(const boost::json::value& value, const std::string& param,
                    uint32_t vocabulary) {
  return static_cast<int32_t>(integer_field(value, param, 0, int64_t{vocabulary} - 1));
}

std::string entry_name(const std::string& array, size_t index) {
  return fmt::format("{}[{}]", array, index);
}

std::string_view kind_text(const boost::json::value& value) {
  switch (value.kind()) {
    case boost::json::kind::null:
      return "null";
    case boost::json::kind::bool_:
      return "a boolean";
    case boost::json::kind::string:
      return "a string";
    case boost::json::kind::array:
      return "an array";
    case boost::json::kind::object:
      return "an object";
    default:
      return "a number";
  }
}

void refuse_type(const boost::json::value& value, const std::string& param,
                 std::string_view wanted) {
  throw RequestError(kInvalidType, param,
                     fmt::format("is {}; it must be {}", kind_text(value), wanted));
}

void refuse_unsupported(const std::string& param, std::string_view remedy) {
  throw RequestError(
      kUnsupportedField, param,
      fmt::format("asks for something that this server does not support; {}", remedy));
}

}  // namespace hearth
