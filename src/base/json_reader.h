// Reads untrusted JSON (RFC 8259), with Boost.JSON. A number beyond the range of a double is
// refused, which that library would make infinity. Where an object names a key twice, the last one
// counts. A byte order mark at the start is skipped.
//
// Errors (kRequest): one sentence with the byte at which the text is not valid JSON.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <string_view>

namespace hearth {

inline constexpr uint32_t kJsonDepth = 64;

// `depth` is the deepest nesting of arrays and objects.
boost::json::value read_json(std::string_view text, uint32_t depth = kJsonDepth);

}  // namespace hearth
