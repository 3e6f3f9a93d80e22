// Values that were read with Boost.JSON, written again by Json: numbers with the fewest digits
// ("1.5", not "1.5E0"), members in their order.
#pragma once

#include <boost/json/value.hpp>
#include <string>

#include "base/json.h"

namespace hearth {

// How deep it lies was checked when it was read.
void write_value(Json& json, const boost::json::value& value);
// The arguments of a call, as an object: what a call was cut in is no value, and becomes {}.
void write_arguments(Json& json, const std::string& arguments);
// Writes a value as JSON, without a newline at its end.
std::string value_text(const boost::json::value& value);

}  // namespace hearth
