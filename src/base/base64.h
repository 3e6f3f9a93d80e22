// Base64 with padding (RFC 4648, section 4).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace hearth {

std::string base64_encode(std::span<const std::byte> bytes);
// Nothing where `text` is not the encoding of any bytes: other characters (line ends too), padding
// that is missing or in the middle, bits behind the last byte that are not 0.
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace hearth
