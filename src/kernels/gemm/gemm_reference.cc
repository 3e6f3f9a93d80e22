#include "kernels/gemm/gemm_reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/gemm/gemm_kernels.h"
#include "kernels/gemm/gemm_segments-inl.h"
#include "tensor/code_block.h"

namespace hearth {
namespace {

PackedLane lane_of(const WeightView& w, uint32_t row) {
  const size_t panel = row / kPanelRows;
  return {.codes = w.codes + w.codes_panel_bytes * panel,
          .scales = w.scales + w.scales_panel_bytes * panel,
          .r = row % kPanelRows,
          .super_offset = w.super_offset,
          .supers = w.supers,
          .form = &w.form};
}

float fp8_scale(PackKind kind, const PackedLane& lane, uint32_t b) {
  const uint32_t super = (b + lane.super_offset) / kFp8SuperBlocks;
  if (kind == PackKind::kFP8R) {
    return read_at<float>(lane.scales, size_t{kPanelRows} * super + lane.r);
  }
  const auto shared = read_at<Fp8Scale>(lane.scales, super);
  const bool nan = (shared.nan_rows >> lane.r & 1) != 0;
  return nan ? std::numeric_limits<float>::quiet_NaN() : shared.scale;
}

// Writes the weights as a kind that is multiplied in floating point has them: values, or for FP8
// values without the scale.
void float_codes(PackKind kind, const PackedLane& lane, uint32_t b, float* out) {
  if (!is_fp8(kind)) return pack_kind_info(kind).unpack_values(lane, b, out);
  for (size_t j = 0; j < kBlock; ++j) {
    out[j] = e4m3_to_f32(read_at<e4m3_t>(lane.codes + size_t{512} * b, fp8_code_at(lane.r, j)));
  }
}

// Computes the contract's chain over one row of activations.
float chain_float(PackKind kind, const GemmArgs& g, const ActView& a, uint32_t row) {
  const PackedLane lane = lane_of(g.w, row);
  const bool bf16 = act_format_for(kind) == ActFormat::kBF16;
  float acc = 0;
  for (uint32_t b = g.block0; b < g.block1; ++b) {
    float codes[kBlock];
    float_codes(kind, lane, b, codes);
    for (uint32_t j = 0; j < kBlock; ++j) {
      const uint32_t k = b * kBlock + j;
      acc = std::fma(codes[j], bf16 ? bf16_to_f32(a.bf16[k]) : a.f32[k], acc);
    }
  }
  return acc;
}

float chain_fp8(PackKind kind, const GemmArgs& g, const ActView& a, uint32_t row) {
  const PackedLane lane = lane_of(g.w, row);
  float acc = 0;
  for (uint32_t b = g.block0; b < g.block1;) {
    const uint32_t super_end = b + kFp8SuperBlocks - (b + g.w.super_offset) % kFp8SuperBlocks;
    GemmArgs piece = g;
    piece.block0 = b;
    piece.block1 = std::min(g.block1, super_end);
    acc = std::fma(chain_float(kind, piece, a, row), fp8_scale(kind, lane, b), acc);
    b = piece.block1;
  }
  return acc;
}

float chain_q8(PackKind kind, const GemmArgs& g, const ActView& a, uint32_t row) {
  const PackKindInfo& info = pack_kind_info(kind);
  const PackedLane lane = lane_of(g.w, row);
  const uint32_t length = info.scale_elements, parts = kBlock / length;
  const float* sums = parts == 2 ? a.sum16 : a.sum32;
  float acc = 0;
  for (uint32_t b = g.block0; b < g.block1; ++b) {
    CodeBlock block;
    info.unpack_codes(lane, b, block);
    for (uint32_t h = 0; h < parts; ++h) {
      int32_t dot = 0;
      for (uint32_t j = h * length; j < (h + 1) * length; ++j) {
        dot += (block.codes[j] - kCodeZero) * a.codes[b * kBlock + j];
      }
      acc = std::fma(static_cast<float>(dot), block.scale[h] * a.scale[b], acc);
      if (info.minima) acc = std::fma(block.min[h], sums[b * parts + h], acc);
    }
  }
  return acc;
}

float chain(PackKind kind, const GemmArgs& g, const ActView& a, uint32_t row) {
  if (is_fp8(kind)) return chain_fp8(kind, g, a, row);
  return act_format_for(kind) == ActFormat::kQ8 ? chain_q8(kind, g, a, row)
                                                : chain_float(kind, g, a, row);
}

void gemm_chains(PackKind kind, const GemmArgs& g) {
  for (uint32_t m = 0; m < g.m; ++m) {
    ActView a = act_rows(g.a, m, 0);
    for (uint32_t n = 0; n < g.panels * kPanelRows; ++n) {
      uint32_t row = g.panel0 * kPanelRows + n;
      g.out[m * g.out_stride + n] = chain(kind, g, a, row);
    }
  }
}

void gemm(PackKind kind, const GemmArgs& g) {
  for_segments(g, kBranchPanels, [=](const ChainArgs& segment) { gemm_chains(kind, segment); });
}

// An element of a row, whose value is product + min.
struct Element {
  double product, min;
};

void elements_of(PackKind kind, const PackedLane& lane, uint32_t b, Element (&out)[kBlock]) {
  const PackKindInfo& info = pack_kind_info(kind);
  if (info.unpack_codes != nullptr) {
    CodeBlock block;
    info.unpack_codes(lane, b, block);
    for (uint32_t j = 0; j < kBlock; ++j) {
      const double scale = block.scale[j / 16];
      out[j] = {scale * (block.codes[j] - kCodeZero), block.min[j / 16]};
    }
    return;
  }
  float codes[kBlock];
  float_codes(kind, lane, b, codes);
  const double scale = is_fp8(kind) ? fp8_scale(kind, lane, b) : 1;
  for (uint32_t j = 0; j < kBlock; ++j) out[j] = {scale * codes[j], 0};
}

double activation(ActFormat format, const ActView& a, size_t k) {
  switch (format) {
    case ActFormat::kF32:
      return a.f32[k];
    case ActFormat::kBF16:
      return bf16_to_f32(a.bf16[k]);
    case ActFormat::kQ8:
      return static_cast<double>(a.codes[k]) * a.scale[k / kBlock];
  }
  return 0;
}

}  // namespace

Truth gemm_truth(const TruthArgs& t) {
  const ActFormat format = act_format_for(t.kind);
  const PackedLane lane = lane_of(t.w, t.row);
  Truth truth = {0, 0};
  for (uint32_t b = t.block0; b < t.block1; ++b) {
    Element elements[kBlock];
    elements_of(t.kind, lane, b, elements);
    for (uint32_t j = 0; j < kBlock; ++j) {
      const Element& e = elements[j];
      const double a = activation(format, t.a, size_t{kBlock} * b + j);
      truth.value += (e.product + e.min) * a;
      truth.magnitude += (std::abs(e.product) + std::abs(e.min)) * std::abs(a);
    }
  }
  return truth;
}

// The menu of the reference, which has one schedule.
constexpr TileRange kMenuTiles[] = {{1, 1, 1}};
constexpr GemmMenu kMenu = {.tiles = kMenuTiles,
                            .slice = {1, 1},
                            .unpack_rows = {0, 0},
                            .prefetch = {0, 0},
                            .to_l2 = false};

#define HEARTH_DEFINE(kind, name, level)                  \
  constinit const GemmMenu menu_##name##_##level = kMenu; \
  void gemm_##name##_##level(const GemmArgs& args) { gemm(PackKind::kind, args); }
HEARTH_GEMM_KERNELS(HEARTH_DEFINE, reference)
#undef HEARTH_DEFINE

}  // namespace hearth
