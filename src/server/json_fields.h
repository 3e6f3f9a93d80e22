// Typed readers of JSON values that a client sent. Each gets the value's name in the body
// ("messages[2].content") and throws a RequestError with that name where the type or the range is
// wrong.
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

// Reads a body, which must be a JSON object nested at most `depth` deep.
boost::json::object read_object(std::string_view body, uint32_t depth);

// Returns the member of this name; null where it is missing or is JSON's null.
const boost::json::value* find_field(const boost::json::object& object, std::string_view name);
// Returns the member of this name; throws where it is missing or null.
const boost::json::value& require_field(const boost::json::object& object, std::string_view name,
                                        const std::string& param);

bool bool_field(const boost::json::value& value, const std::string& param);
std::string text_field(const boost::json::value& value, const std::string& param);
// Reads a number without a fraction (3 or 3.0) in [low, high].
int64_t integer_field(const boost::json::value& value, const std::string& param,
                      int64_t low = std::numeric_limits<int64_t>::min(),
                      int64_t high = std::numeric_limits<int64_t>::max());
double real_field(const boost::json::value& value, const std::string& param, double low,
                  double high);
const boost::json::object& object_field(const boost::json::value& value, const std::string& param);
// Reads an array of `low` to `high` entries.
const boost::json::array& array_field(const boost::json::value& value, const std::string& param,
                                      size_t low, size_t high);
// Reads a token id in [0, vocabulary).
int32_t token_field(const boost::json::value& value, const std::string& param, uint32_t vocabulary);

// Returns an entry's name for errors: "messages[2]".
std::string entry_name(const std::string& array, size_t index);
// Returns a value's type for messages: "a string", "a boolean".
std::string_view kind_text(const boost::json::value& value);

// Throws the error that the value has not the type that `wanted` names.
[[noreturn]] void refuse_type(const boost::json::value& value, const std::string& param,
                              std::string_view wanted);
// Throws the error that the field asks for something not built; `remedy` says what the client can
// do.
[[noreturn]] void refuse_unsupported(const std::string& param, std::string_view remedy);

}  // namespace hearth
