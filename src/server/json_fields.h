// Typed readers of JSON values that a client sent. Each is told the value's name in the body
// ("messages[2].content"), and throws RequestError naming it where type or range are wrong.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "server/request_error.h"

namespace hearth {

// Reads a body that must be an object.
boost::json::object read_object(std::string_view body, uint32_t depth);

// The member, or nullptr where it is missing or null, which is the same.
const boost::json::value* find_field(const boost::json::object& object, std::string_view name);
// Throws where it is missing or null.
const boost::json::value& require_field(const boost::json::object& object, std::string_view name,
                                        const std::string& param);

bool bool_field(const boost::json::value& value, const std::string& param);
std::string text_field(const boost::json::value& value, const std::string& param);
// A number without a fraction, 3 or 3.0, in [low, high].
int64_t integer_field(const boost::json::value& value, const std::string& param,
                      int64_t low = std::numeric_limits<int64_t>::min(),
                      int64_t high = std::numeric_limits<int64_t>::max());
double real_field(const boost::json::value& value, const std::string& param, double low,
                  double high);
const boost::json::object& object_field(const boost::json::value& value, const std::string& param);
// Requires an array with `low` to `high` entries.
const boost::json::array& array_field(const boost::json::value& value, const std::string& param,
                                      size_t low, size_t high);
// An id of a token: [0, vocabulary).
int32_t token_field(const boost::json::value& value, const std::string& param, uint32_t vocabulary);

// "messages[2]"
std::string entry_name(const std::string& array, size_t index);
// "a string", "a boolean": for messages.
std::string_view kind_text(const boost::json::value& value);

// Throws: the value is of another type than `wanted` says.
[[noreturn]] void refuse_type(const boost::json::value& value, const std::string& param,
                              std::string_view wanted);
// Throws: what the field asks for is not built; `remedy` says what to do.
[[noreturn]] void refuse_unsupported(const std::string& param, std::string_view remedy);

}  // namespace hearth
