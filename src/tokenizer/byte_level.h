// Spells bytes in the alphabet of byte-level BPE (GPT-2's bytes_to_unicode): every byte is one
// printable character, so that vocabularies and merges can be text. Bytes 21..7E, A1..AC and AE..FF
// (hex) are the characters of the same number; the other 68 are U+0100, U+0101 ... in order.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hearth {

// Returns the character, as UTF-8, that spells `byte`.
std::string byte_level_character(uint8_t byte);

// Returns the bytes, each spelled as its character.
std::string byte_level_encode(std::string_view bytes);

// Returns the bytes that a token's text stands for. Characters outside the alphabet, which tokens
// added later may have, stand for themselves.
std::string byte_level_decode(std::string_view text);

}  // namespace hearth
