// These functions pack one panel of 16 rows from the file's layout, one function a family of pack
// kinds; pack_panels calls them. tensor/pack_spec.h defines the bytes that come out.
//
// Every function transposes: 16 rows that lie far apart become one stream. They work in 4 x 4 tiles
// of 32-bit words in the vector registers that every processor has, and reach more than half the
// speed of memcpy.
#pragma once

#include <cstddef>

#include "tensor/pack_spec.h"

namespace hearth {

struct PanelSource {
  DType dtype;
  PanelRows rows;
};

// Packs kF32, kF16 and kBF16, the only kinds whose k need not be a multiple of 32.
void pack_plain(const PackSpec& spec, const PanelSource& source, std::byte* codes);

// Packs kQ8_0, kQ4_0, kQ4_K, kQ5_K and kQ6_K: the file's codes in another order.
void pack_quantised(const PackSpec& spec, const PanelSource& source, std::byte* codes,
                    std::byte* scales);

// Packs kI8x32 and kI8x16, decoded to 8 bits.
void pack_int8(const PackSpec& spec, const PanelSource& source, std::byte* codes,
               std::byte* scales);

// Returns where block `index` of `block_bytes` lies in each row; rows of padding get `padding`.
inline PanelRows blocks_at(const PanelRows& rows, size_t index, size_t block_bytes,
                           const std::byte* padding) {
  PanelRows blocks;
  for (size_t r = 0; r < kPanelRows; ++r) {
    blocks[r] = rows[r] == nullptr ? padding : rows[r] + index * block_bytes;
  }
  return blocks;
}

}  // namespace hearth
