// Checks JSON against the schemas of openapi.json, for tests. It knows as much of JSON Schema
// (2020-12) as that document uses; an unknown keyword is an error, so that nothing passes
// unchecked.
#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <string_view>

namespace hearth {

// Returns how `value` violates the schema components/schemas/NAME, with the place ("/choices/0:
// finish_reason is missing"); "" where it does not.
std::string schema_error(const boost::json::value& document, std::string_view name,
                         const boost::json::value& value);

}  // namespace hearth
