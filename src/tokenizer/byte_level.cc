#include "tokenizer/byte_level.h"

#include <array>

#include "base/utf8.h"

namespace hearth {

namespace {

constexpr bool stands_for_itself(uint32_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr size_t kSpelled = 256 + 68;

struct Alphabet {
  std::array<uint16_t, 256> character{};
  std::array<int16_t, kSpelled> byte{};
};

constexpr Alphabet make_alphabet() {
  Alphabet alphabet;
  for (int16_t& byte : alphabet.byte) byte = -1;
  uint16_t next = 256;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint16_t character = stands_for_itself(byte) ? static_cast<uint16_t>(byte) : next++;
    alphabet.character[byte] = character;
    alphabet.byte[character] = static_cast<int16_t>(byte);
  }
  return alphabet;
}

constexpr Alphabet kAlphabet = make_alphabet();

}  // namespace

std::string byte_level_character(uint8_t byte) {
  std::string text;
  utf8_append(text, kAlphabet.character[byte]);
  return text;
}

std::string byte_level_encode(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (char byte : bytes) utf8_append(text, kAlphabet.character[static_cast<uint8_t>(byte)]);
  return text;
}

std::string byte_level_decode(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  while (!text.empty()) {
    size_t length = utf8_sequence(text);
    if (length == 0) {
      bytes.push_back(text[0]);
      text.remove_prefix(1);
      continue;
    }
    char32_t character = utf8_decode(text.substr(0, length));
    int16_t byte = character < kSpelled ? kAlphabet.byte[character] : int16_t{-1};
    if (byte >= 0) {
      bytes.push_back(static_cast<char>(byte));
    } else {
      bytes += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return bytes;
}

}  // namespace hearth
