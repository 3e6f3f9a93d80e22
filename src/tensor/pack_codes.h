// The layout of codes of 1 to 8 bits in a block of a panel (tensor/pack_spec.h): planes of 8, 4, 2
// or 1 bits. In a plane of b bits a word of 4 bytes holds b bits of each of 4 codes, for each of 8
// / b groups.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tensor/pack_panel.h"

namespace hearth {

// The codes of 32 elements of 16 rows.
struct PanelCodes {
  uint8_t at[kPanelRows][kBlock];

  // Returns the codes of group g of row r, one a byte.
  uint32_t word(size_t r, size_t g) const {
    uint32_t w;
    std::memcpy(&w, at[r] + 4 * g, sizeof w);
    return w;
  }
};

// A plane has `Bits` bits of each code, from bit `From` on. Its groups follow in order, except in
// nibbles, where groups g and g + 4 share their bytes.
template <uint32_t Bits, uint32_t From>
struct CodePlane {
  static constexpr size_t kShared = 8 / Bits;    // groups that share a word
  static constexpr size_t kWords = 8 / kShared;  // words a row
  static constexpr size_t kBytes = kWords * 64;
  static constexpr uint32_t kMask = ((1u << Bits) - 1) * 0x01010101u;

  static constexpr size_t group(size_t word, size_t i) {
    return Bits == 4 ? word + 4 * i : kShared * word + i;
  }
  static void put(const PanelCodes& codes, std::byte* out) {
    for (size_t word = 0; word < kWords; ++word) {
      for (size_t r = 0; r < kPanelRows; ++r, out += 4) {
        uint32_t w = 0;
        for (size_t i = 0; i < kShared; ++i) {
          w |= (codes.word(r, group(word, i)) >> From & kMask) << (Bits * i);
        }
        std::memcpy(out, &w, sizeof w);
      }
    }
  }
  // Adds the plane's bits to the codes of row r.
  static void add(const std::byte* plane, size_t r, uint8_t (&codes)[kBlock]) {
    for (size_t word = 0; word < kWords; ++word) {
      for (size_t i = 0; i < kShared; ++i) {
        for (size_t j = 0; j < 4; ++j) {
          const uint32_t byte = read_at<uint8_t>(plane, in_groups(word, r, j));
          uint8_t& code = codes[4 * group(word, i) + j];
          code = static_cast<uint8_t>(code | (byte >> (Bits * i) & ((1u << Bits) - 1)) << From);
        }
      }
    }
  }
};

// The planes of codes, one after the other.
template <typename... Planes>
struct CodePlanes {
  static constexpr size_t kBytes = (Planes::kBytes + ...);

  static void put(const PanelCodes& codes, std::byte* out) {
    ((Planes::put(codes, out), out += Planes::kBytes), ...);
  }
  static void get(const std::byte* block, size_t r, uint8_t (&codes)[kBlock]) {
    std::memset(codes, 0, sizeof codes);
    ((Planes::add(block, r, codes), block += Planes::kBytes), ...);
  }
};

using OneBitCodes = CodePlanes<CodePlane<1, 0>>;
using TwoBitCodes = CodePlanes<CodePlane<2, 0>>;
using ThreeBitCodes = CodePlanes<CodePlane<2, 0>, CodePlane<1, 2>>;
using FourBitCodes = CodePlanes<CodePlane<4, 0>>;
using FiveBitCodes = CodePlanes<CodePlane<4, 0>, CodePlane<1, 4>>;
using EightBitCodes = CodePlanes<CodePlane<8, 0>>;

}  // namespace hearth
