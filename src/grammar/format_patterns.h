// Patterns of JSON Schema's string formats: dates and times (RFC 3339), durations, UUIDs, addresses
// (RFC 4291, 5321, 1123), URIs (RFC 3986), JSON pointers (RFC 6901).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth {

// A text has the format where as a whole it matches one of `patterns` and none of `exceptions`,
// which are regular expressions of ECMA-262.
struct FormatPatterns {
  std::vector<std::string> patterns;
  std::vector<std::string> exceptions = {};
};

// Returns the patterns of a format; none where the format restricts nothing.
std::optional<FormatPatterns> find_format(std::string_view name);

}  // namespace hearth
