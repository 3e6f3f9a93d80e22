// Packs kI8x32 and kI8x16: whatever a type's blocks hold, decoded to 8 bits.
#include <algorithm>
#include <cstring>

#include "tensor/pack_panel.h"
#include "tensor/transpose.h"

namespace hearth {
namespace {

template <uint32_t halves>
void pack_int8(const PackSpec& spec, const PanelSource& source, std::byte* codes,
               std::byte* scales) {
  const DTypeInfo& info = dtype_info(source.dtype);
  const uint32_t parts = info.block_elements / kBlock;
  const size_t half_bytes = halves * kPanelRows * sizeof(float);

  CodeBlock zero = {};
  std::fill(std::begin(zero.codes), std::end(zero.codes), kCodeZero);
  CodeBlock panel[kPanelRows];
  std::fill(std::begin(panel), std::end(panel), zero);

  for (uint32_t b = 0; b < spec.blocks(); ++b) {
    const size_t block = spec.k_origin / kBlock + b;
    for (size_t r = 0; r < kPanelRows; ++r) {
      if (source.rows[r] == nullptr) continue;
      info.decode(source.rows[r] + block / parts * info.block_bytes,
                  static_cast<uint32_t>(block % parts), panel[r]);
    }
    transpose_words<8>(codes, [&](size_t r, size_t c) {
      return load_vector<U32x4>(reinterpret_cast<const std::byte*>(panel[r].codes) + 4 * c);
    });
    codes += kBlock * kPanelRows;
    for (size_t h = 0; h < halves; ++h) {
      for (size_t r = 0; r < kPanelRows; ++r) {
        std::byte* at = scales + (h * kPanelRows + r) * sizeof(float);
        std::memcpy(at, &panel[r].scale[h], sizeof(float));
        std::memcpy(at + half_bytes, &panel[r].min[h], sizeof(float));
      }
    }
    scales += 2 * half_bytes;
  }
}

template <size_t halves>
void unpack_int8(const PackedLane& lane, uint32_t b, CodeBlock& block) {
  read_byte_codes(lane, b, block);
  const std::byte* own = lane.scales + 2 * halves * kPanelRows * sizeof(float) * b;
  for (size_t h = 0; h < 2; ++h) {
    size_t at = h % halves * kPanelRows + lane.r;
    block.scale[h] = read_at<float>(own, at);
    block.min[h] = read_at<float>(own, halves * kPanelRows + at);
  }
}

}  // namespace

constinit const PackKindInfo kind_i8x32 = {.name = "i8x32",
                                           .code_bytes = 512,
                                           .scale_bytes = 128,
                                           .block_scale = ScaleForm::kF32,
                                           .minima = true,
                                           .pack = pack_int8<1>,
                                           .unpack_codes = unpack_int8<1>};

constinit const PackKindInfo kind_i8x16 = {.name = "i8x16",
                                           .code_bytes = 512,
                                           .scale_bytes = 256,
                                           .block_scale = ScaleForm::kF32,
                                           .scale_elements = kBlock / 2,
                                           .minima = true,
                                           .pack = pack_int8<2>,
                                           .unpack_codes = unpack_int8<2>};

}  // namespace hearth
