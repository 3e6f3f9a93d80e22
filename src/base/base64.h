// Base64 with padding (RFC 4648, section 4).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace hearth {

std::string base64_encode(std::span<const std::byte> bytes);
// Decodes; none where `text` is not valid: other characters (line ends too), missing or misplaced
// padding, unused bits that are not 0.
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace hearth
