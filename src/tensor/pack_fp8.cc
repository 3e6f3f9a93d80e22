#include "tensor/pack_fp8.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "base/fp_types.h"
#include "tensor/pack_panel.h"
#include "tensor/transpose.h"

namespace hearth {
namespace {

constexpr std::byte kZeros[kBlock] = {};

void pack_block(const PanelRows& blocks, std::byte* out) {
  for (size_t g = 0; g < kBlock / 4; g += 4) {
    for (size_t r = 0; r < kPanelRows; r += 4) {
      U32x4 v[4];
      for (size_t i = 0; i < 4; ++i) v[i] = load_vector<U32x4>(blocks[r + i] + 4 * g);
      transpose(v);
      for (size_t i = 0; i < 4; ++i) {
        U16x8 pairs;
        std::memcpy(&pairs, &v[i], sizeof pairs);
        store_vector(out + fp8_code_at(r, 4 * (g + i)),
                     __builtin_shufflevector(pairs, pairs, 0, 2, 4, 6, 1, 3, 5, 7));
      }
    }
  }
}

void pack_codes(const PackSpec& spec, const PanelRows& rows, std::byte* codes) {
  const size_t origin = spec.k_origin / kBlock;
  std::byte tails[kPanelRows][kBlock] = {};
  for (uint32_t b = 0; b < spec.blocks(); ++b) {
    PanelRows blocks = blocks_at(rows, origin + b, kBlock, kZeros);
    const uint32_t left = spec.k - kBlock * b;
    if (left < kBlock) {
      for (size_t r = 0; r < kPanelRows; ++r) {
        std::memcpy(tails[r], blocks[r], left);
        blocks[r] = tails[r];
      }
    }
    pack_block(blocks, codes + size_t{kBlock} * kPanelRows * b);
  }
}

bool any_nan(const std::byte* codes, size_t count) {
  unsigned found = 0;
  for (size_t i = 0; i < count; ++i) {
    found |= static_cast<unsigned>((codes[i] & std::byte{0x7f}) == std::byte{0x7f});
  }
  return found != 0;
}

// Returns a mask with a bit for each row that has a NaN in columns [begin, end) of the whole
// tensor.
uint32_t nan_rows(const PanelRows& rows, size_t begin, size_t end) {
  uint32_t found = 0;
  for (size_t r = 0; r < kPanelRows; ++r) {
    if (rows[r] != nullptr && any_nan(rows[r] + begin, end - begin)) found |= 1u << r;
  }
  return found;
}

float scale_of_panel(const PackedLane& lane, uint32_t super) {
  return read_at<Fp8Scale>(lane.scales, super).scale;
}

float scale_of_row(const PackedLane& lane, uint32_t super) {
  return read_at<float>(lane.scales, size_t{kPanelRows} * super + lane.r);
}

template <float scale_of(const PackedLane&, uint32_t)>
void unpack_fp8(const PackedLane& lane, uint32_t b, float* out) {
  const std::byte* codes = lane.codes + size_t{512} * b;
  const float scale = scale_of(lane, (b + lane.super_offset) / kFp8SuperBlocks);
  for (size_t j = 0; j < kBlock; ++j) {
    out[j] = scale * e4m3_to_f32(read_at<e4m3_t>(codes, fp8_code_at(lane.r, j)));
  }
}

// Writes the scales of one super-block. `nan` has a bit for each row with a NaN in this
// super-block.
void write_scales(PackKind kind, const PanelRows& rows, const Fp8Scales& from, size_t super,
                  uint32_t nan, std::byte* out) {
  if (kind == PackKind::kFP8) {
    const Fp8Scale scale = {from.first[super], nan};
    std::memcpy(out, &scale, sizeof scale);
    return;
  }
  float scales[kPanelRows] = {};
  for (size_t r = 0; r < kPanelRows; ++r) {
    if (rows[r] == nullptr) continue;
    const bool is_nan = (nan >> r & 1) != 0;
    scales[r] =
        is_nan ? std::numeric_limits<float>::quiet_NaN() : from.first[from.row_stride * r + super];
  }
  std::memcpy(out, scales, sizeof scales);
}

}  // namespace

constinit const PackKindInfo kind_fp8 = {.name = "fp8",
                                         .code_bytes = 512,
                                         .super_bytes = sizeof(Fp8Scale),
                                         .super_blocks = kFp8SuperBlocks,
                                         .unpack_values = unpack_fp8<scale_of_panel>};

constinit const PackKindInfo kind_fp8_rows = {.name = "fp8_rows",
                                              .code_bytes = 512,
                                              .super_bytes = sizeof(float) * kPanelRows,
                                              .super_blocks = kFp8SuperBlocks,
                                              .super_scale = ScaleForm::kF32,
                                              .unpack_values = unpack_fp8<scale_of_row>};

void pack_fp8_panel(const PackSpec& spec, const PanelRows& rows, const Fp8Scales& row_scales,
                    uint32_t panel, std::byte* codes, std::byte* scales) {
  HEARTH_CHECK(is_fp8(spec.kind), "the kind is one of FP8's");
  HEARTH_CHECK(spec.k_origin % kBlock == 0, "K is cut at multiples of 32");
  HEARTH_CHECK(panel < spec.panels(), "the panel is the shard's");
  pack_codes(spec, rows, codes + spec.codes_panel_bytes() * panel);

  std::byte* out = scales + spec.scales_panel_bytes() * panel;
  std::memset(out, 0, spec.scales_panel_bytes());
  const size_t end = size_t{spec.k_origin} + spec.k;
  for (size_t begin = spec.k_origin; begin < end;) {
    const size_t super = begin / kFp8ScaleBlock;
    const size_t super_end = std::min(end, (super + 1) * kFp8ScaleBlock);
    write_scales(spec.kind, rows, row_scales, super, nan_rows(rows, begin, super_end), out);
    out += pack_kind_info(spec.kind).super_bytes;
    begin = super_end;
  }
}

}  // namespace hearth
