// Checks JSON against the schemas of openapi.json, for tests: as much of JSON Schema (2020-12) as
// that document uses. A word that this does not know is an error, so that nothing passes unchecked.
#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <string_view>

namespace hearth {

// Returns what is wrong with `value` by components/schemas/NAME of the document, with the place
// ("/choices/0: finish_reason is missing"); "" where nothing is.
std::string schema_error(const boost::json::value& document, std::string_view name,
                         const boost::json::value& value);

}  // namespace hearth
