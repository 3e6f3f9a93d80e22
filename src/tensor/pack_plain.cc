// Packs the kinds that hold the elements of plain types unchanged. These are the only kinds whose k
// need not be a multiple of 32.
#include <cstring>

#include "base/fp_types.h"
#include "tensor/pack_panel.h"
#include "tensor/transpose.h"

namespace hearth {
namespace {

constexpr size_t kMaxBlockBytes = kBlock * sizeof(float);
constexpr std::byte kZeros[kMaxBlockBytes] = {};

// Packs a block of 32-bit words: a word is an f32 or a pair of bf16.
template <size_t Words>
void pack_words(const PanelRows& blocks, std::byte* out) {
  transpose_words<Words>(out,
                         [&](size_t r, size_t c) { return load_vector<U32x4>(blocks[r] + 4 * c); });
}

void pack_halves(const PanelRows& blocks, std::byte* out) {
  for (size_t j = 0; j < kBlock; j += 8) {
    for (size_t r = 0; r < kPanelRows; r += 8) {
      U16x8 v[8];
      for (size_t i = 0; i < 8; ++i) v[i] = load_vector<U16x8>(blocks[r + i] + 2 * j);
      transpose(v);
      for (size_t i = 0; i < 8; ++i) store_vector(out + 32 * (j + i) + 2 * r, v[i]);
    }
  }
}

using PackBlock = void (*)(const PanelRows& blocks, std::byte* out);

template <PackBlock pack>
void pack_blocks(const PackSpec& spec, const PanelSource& source, std::byte* codes, std::byte*) {
  const PanelRows& rows = source.rows;
  const size_t block_bytes = row_bytes(source.dtype, kBlock);
  const size_t packed_bytes = block_bytes * kPanelRows;
  const uint32_t whole = spec.k / kBlock;
  const size_t origin = spec.k_origin / kBlock;
  for (uint32_t b = 0; b < whole; ++b) {
    pack(blocks_at(rows, origin + b, block_bytes, kZeros), codes + b * packed_bytes);
  }
  if (whole == spec.blocks()) return;

  std::byte tails[kPanelRows][kMaxBlockBytes] = {};
  const size_t tail_bytes = spec.k % kBlock * (block_bytes / kBlock);
  PanelRows blocks = blocks_at(rows, origin + whole, block_bytes, kZeros);
  for (size_t r = 0; r < kPanelRows; ++r) {
    std::memcpy(tails[r], blocks[r], tail_bytes);
    blocks[r] = tails[r];
  }
  pack(blocks, codes + whole * packed_bytes);
}

// Reads elements j = 0, 1, ... of row r in blocks of [32 j][16 r].
template <typename T, float convert(T)>
void unpack_plain(const PackedLane& lane, uint32_t b, float* out) {
  for (size_t j = 0; j < kBlock; ++j) {
    out[j] = convert(read_at<T>(lane.codes, (size_t{kBlock} * b + j) * kPanelRows + lane.r));
  }
}

float as_it_is(float x) { return x; }

// Unpacks bf16: a 32-bit word holds two elements of a row.
void unpack_bf16(const PackedLane& lane, uint32_t b, float* out) {
  for (size_t i = 0; i < kBlock / 2; ++i) {
    const auto pair =
        read_at<uint32_t>(lane.codes, (size_t{kBlock / 2} * b + i) * kPanelRows + lane.r);
    out[2 * i] = bf16_to_f32(static_cast<bf16_t>(pair));
    out[2 * i + 1] = bf16_to_f32(static_cast<bf16_t>(pair >> 16));
  }
}

}  // namespace

constinit const PackKindInfo kind_f32 = {.name = "f32",
                                         .code_bytes = 2048,
                                         .pack = pack_blocks<pack_words<32>>,
                                         .unpack_values = unpack_plain<float, as_it_is>};

constinit const PackKindInfo kind_f16 = {.name = "f16",
                                         .code_bytes = 1024,
                                         .pack = pack_blocks<pack_halves>,
                                         .unpack_values = unpack_plain<f16_t, f16_to_f32>};

constinit const PackKindInfo kind_bf16 = {.name = "bf16",
                                          .code_bytes = 1024,
                                          .pack = pack_blocks<pack_words<16>>,
                                          .unpack_values = unpack_bf16};

}  // namespace hearth
