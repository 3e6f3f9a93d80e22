// Writes values that Boost.JSON read: numbers with the fewest digits ("1.5", not "1.5E0"), members
// in their order.
#pragma once

#include <boost/json/value.hpp>
#include <string>

#include "base/json.h"

namespace hearth {

// Writes a value. Its depth was checked when it was read.
void write_value(Json& json, const boost::json::value& value);
// Writes the arguments of a tool call as an object; text that is not complete JSON (a call cut off)
// becomes {}.
void write_arguments(Json& json, const std::string& arguments);
// Writes a value as JSON, without a newline at its end.
std::string value_text(const boost::json::value& value);

}  // namespace hearth
