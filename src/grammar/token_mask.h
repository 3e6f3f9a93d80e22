// Masks of tokens: a bit for each, the lowest bit of the first word for token 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hearth {

constexpr size_t mask_words(size_t tokens) { return (tokens + 63) / 64; }

constexpr bool has_bit(std::span<const uint64_t> mask, int32_t token) {
  return (mask[static_cast<size_t>(token) / 64] >> (token % 64) & 1) != 0;
}

constexpr void set_bit(std::span<uint64_t> mask, int32_t token) {
  mask[static_cast<size_t>(token) / 64] |= uint64_t{1} << (token % 64);
}

constexpr void clear_bit(std::span<uint64_t> mask, int32_t token) {
  mask[static_cast<size_t>(token) / 64] &= ~(uint64_t{1} << (token % 64));
}

}  // namespace hearth
