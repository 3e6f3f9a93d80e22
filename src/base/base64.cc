#include "base/base64.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace hearth {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr uint8_t kNoDigit = 64;

constexpr std::array<uint8_t, 256> digit_values() {
  std::array<uint8_t, 256> values{};
  values.fill(kNoDigit);
  for (uint8_t i = 0; i < kDigits.size(); ++i) values[static_cast<uint8_t>(kDigits[i])] = i;
  return values;
}
constexpr std::array<uint8_t, 256> kValues = digit_values();

}  // namespace

std::string base64_encode(std::span<const std::byte> bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j) {
      group = group << 8 | (j < count ? std::to_integer<uint32_t>(bytes[i + j]) : 0);
    }
    for (size_t j = 0; j < 4; ++j) {
      text += j <= count ? kDigits[group >> (18 - 6 * j) & 63] : '=';
    }
  }
  return text;
}

std::optional<std::string> base64_decode(std::string_view text) {
  if (text.size() % 4 != 0) return {};
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (size_t i = 0; i < text.size(); i += 4) {
    size_t digits = 4;
    bool last = i + 4 == text.size();
    while (last && digits > 2 && text[i + digits - 1] == '=') --digits;
    uint32_t group = 0;
    for (size_t j = 0; j < digits; ++j) {
      uint8_t value = kValues[static_cast<uint8_t>(text[i + j])];
      if (value == kNoDigit) return {};
      group = group << 6 | value;
    }
    group <<= 6 * (4 - digits);
    for (size_t j = 0; j + 1 < digits; ++j) {
      bytes += static_cast<char>(group >> (16 - 8 * j) & 255);
    }
    if ((group & ((1u << 8 * (4 - digits)) - 1)) != 0) return {};
  }
  return bytes;
}

}  // namespace hearth
