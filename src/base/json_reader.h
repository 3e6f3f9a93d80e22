// Reads JSON that anyone may have sent (RFC 8259), with Boost.JSON. A number beyond the range of a
// double is refused, which that library makes infinity of. Where an object names a key twice, the
// last one counts. A mark of byte order at the start is no part of the text.
//
// Errors (kRequest): one sentence with the byte at which the text is no JSON.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <string_view>

namespace hearth {

inline constexpr uint32_t kJsonDepth = 64;

// `depth`: how deep arrays and objects may lie in each other.
boost::json::value read_json(std::string_view text, uint32_t depth = kJsonDepth);

}  // namespace hearth
