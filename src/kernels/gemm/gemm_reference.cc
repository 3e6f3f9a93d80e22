#include "kernels/gemm/gemm_reference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/gemm/gemm_kernels.h"
#include "kernels/gemm/gemm_segments-inl.h"

namespace hearth {
namespace {

template <typename T>
T read(const std::byte* p, size_t index) {
  T value;
  std::memcpy(&value, p + index * sizeof(T), sizeof(T));
  return value;
}

struct Element {
  float code;
  float scale;
  float min;
};

// Says where element j of lane r in block b of a panel lies.
struct Place {
  const std::byte* codes;   // of the panel
  const std::byte* scales;  // of the panel
  size_t r, b, j;

  size_t half() const { return j / 16; }
  size_t group() const { return j / 4; }
  // Returns the index of the element's byte in [g][16][4], the groups of one block.
  size_t in_groups(size_t g) const { return (g * kPanelRows + r) * 4 + j % 4; }
};

float byte_code(const Place& at) {
  return static_cast<float>(read<uint8_t>(at.codes + 512 * at.b, at.in_groups(at.group()))) - 128;
}

int nibble(const Place& at, size_t block_bytes) {
  uint8_t byte = read<uint8_t>(at.codes + block_bytes * at.b, at.in_groups(at.group() % 4));
  return at.group() < 4 ? byte & 15 : byte >> 4;
}

// Returns an element of kQ4_K or kQ5_K, given its code.
Element with_minimum(const WeightView& w, const Place& at, int code) {
  const std::byte* super = at.scales + 64 * ((at.b + w.super_offset) / kSuperBlocks);
  const std::byte* block = at.scales + size_t{64} * w.supers + 32 * at.b;
  float d = f16_to_f32(read<f16_t>(super, at.r));
  float dmin = f16_to_f32(read<f16_t>(super, 16 + at.r));
  return {static_cast<float>(code), d * read<uint8_t>(block, at.r),
          -(dmin * read<uint8_t>(block, 16 + at.r))};
}

int code_q5_k(const Place& at) {
  uint8_t high = read<uint8_t>(at.codes + 320 * at.b + 256, at.in_groups(0));
  return nibble(at, 320) | (high >> at.group() & 1) << 4;
}

Element element_q6_k(const WeightView& w, const Place& at) {
  const std::byte* high = at.codes + 384 * at.b + 256;
  size_t g = at.group();
  int bits = read<uint8_t>(high, at.in_groups(g / 4)) >> (2 * (g % 4)) & 3;
  const std::byte* super = at.scales + 32 * ((at.b + w.super_offset) / kSuperBlocks);
  const std::byte* block = at.scales + size_t{32} * w.supers + 32 * at.b;
  float d = f16_to_f32(read<f16_t>(super, at.r));
  return {static_cast<float>((nibble(at, 384) | bits << 4) - 32),
          d * read<int8_t>(block, 16 * at.half() + at.r), 0};
}

Place place(const WeightView& w, uint32_t row, uint32_t k) {
  size_t panel = row / kPanelRows;
  return {.codes = w.codes + w.codes_panel_bytes * panel,
          .scales = w.scales + w.scales_panel_bytes * panel,
          .r = row % kPanelRows,
          .b = k / kBlock,
          .j = k % kBlock};
}

Fp8Scale fp8_scale(const WeightView& w, const Place& at) {
  return read<Fp8Scale>(at.scales, (at.b + w.super_offset) / kFp8SuperBlocks);
}

Element element_fp8(const WeightView& w, const Place& at) {
  e4m3_t code = read<e4m3_t>(at.codes + 512 * at.b, fp8_code_at(at.r, at.j));
  return {e4m3_to_f32(code), fp8_scale(w, at).scale, 0};
}

Element element(PackKind kind, const WeightView& w, uint32_t row, uint32_t k) {
  const Place at = place(w, row, k);
  auto f16_scale = [&] { return f16_to_f32(read<f16_t>(at.scales + 32 * at.b, at.r)); };
  switch (kind) {
    case PackKind::kF32:
      return {read<float>(at.codes, size_t{k} * kPanelRows + at.r), 1, 0};
    case PackKind::kF16:
      return {f16_to_f32(read<f16_t>(at.codes, size_t{k} * kPanelRows + at.r)), 1, 0};
    case PackKind::kBF16:
      return {bf16_to_f32(read<bf16_t>(at.codes, (size_t{k} / 2 * kPanelRows + at.r) * 2 + k % 2)),
              1, 0};
    case PackKind::kQ8_0:
      return {byte_code(at), f16_scale(), 0};
    case PackKind::kQ4_0:
      return {static_cast<float>(nibble(at, 256) - 8), f16_scale(), 0};
    case PackKind::kQ4_K:
      return with_minimum(w, at, nibble(at, 256));
    case PackKind::kQ5_K:
      return with_minimum(w, at, code_q5_k(at));
    case PackKind::kQ6_K:
      return element_q6_k(w, at);
    case PackKind::kI8x32: {
      const std::byte* block = at.scales + 128 * at.b;
      return {byte_code(at), read<float>(block, at.r), read<float>(block, 16 + at.r)};
    }
    case PackKind::kI8x16: {
      const std::byte* block = at.scales + 256 * at.b;
      return {byte_code(at), read<float>(block, 16 * at.half() + at.r),
              read<float>(block, 32 + 16 * at.half() + at.r)};
    }
    case PackKind::kFP8:
      return element_fp8(w, at);
  }
  return {};
}

// Computes the contract's chain over one row of activations.
float chain_float(PackKind kind, const GemmArgs& g, const ActView& a, uint32_t row) {
  float acc = 0;
  for (uint32_t k = g.block0 * kBlock; k < g.block1 * kBlock; ++k) {
    float x = act_format_for(kind) == ActFormat::kBF16 ? bf16_to_f32(a.bf16[k]) : a.f32[k];
    acc = std::fma(element(kind, g.w, row, k).code, x, acc);
  }
  return acc;
}

float chain_fp8(const GemmArgs& g, const ActView& a, uint32_t row) {
  float acc = 0;
  for (uint32_t b = g.block0; b < g.block1;) {
    const uint32_t super_end = b + kFp8SuperBlocks - (b + g.w.super_offset) % kFp8SuperBlocks;
    GemmArgs piece = g;
    piece.block0 = b;
    piece.block1 = std::min(g.block1, super_end);
    const Place at = place(g.w, row, b * kBlock);
    const Fp8Scale s = fp8_scale(g.w, at);
    const bool nan = (s.nan_rows >> at.r & 1) != 0;
    acc = std::fma(chain_float(PackKind::kFP8, piece, a, row),
                   nan ? std::numeric_limits<float>::quiet_NaN() : s.scale, acc);
    b = piece.block1;
  }
  return acc;
}

float chain_q8(PackKind kind, const GemmArgs& g, const ActView& a, uint32_t row) {
  const bool halves = kind == PackKind::kQ6_K || kind == PackKind::kI8x16;
  const bool minima = kind == PackKind::kQ4_K || kind == PackKind::kQ5_K ||
                      kind == PackKind::kI8x32 || kind == PackKind::kI8x16;
  const uint32_t length = halves ? kBlock / 2 : kBlock;
  const float* sums = halves ? a.sum16 : a.sum32;
  float acc = 0;
  for (uint32_t k = g.block0 * kBlock; k < g.block1 * kBlock; k += length) {
    int32_t dot = 0;
    for (uint32_t i = k; i < k + length; ++i) {
      dot += static_cast<int32_t>(element(kind, g.w, row, i).code) * a.codes[i];
    }
    Element e = element(kind, g.w, row, k);
    acc = std::fma(static_cast<float>(dot), e.scale * a.scale[k / kBlock], acc);
    if (minima) acc = std::fma(e.min, sums[k / length], acc);
  }
  return acc;
}

float chain(PackKind kind, const GemmArgs& g, const ActView& a, uint32_t row) {
  if (kind == PackKind::kFP8) return chain_fp8(g, a, row);
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

}  // namespace

WeightElement weight_element(PackKind kind, const WeightView& w, uint32_t row, uint32_t k) {
  Element e = element(kind, w, row, k);
  return {e.code, e.scale, e.min};
}

Truth gemm_truth(const TruthArgs& t) {
  Truth truth = {0, 0};
  for (uint32_t k = t.block0 * kBlock; k < t.block1 * kBlock; ++k) {
    WeightElement e = weight_element(t.kind, t.w, t.row, k);
    double a = 0;
    switch (act_format_for(t.kind)) {
      case ActFormat::kF32:
        a = t.a.f32[k];
        break;
      case ActFormat::kBF16:
        a = bf16_to_f32(t.a.bf16[k]);
        break;
      case ActFormat::kQ8:
        a = static_cast<double>(t.a.codes[k]) * t.a.scale[k / kBlock];
        break;
    }
    truth.value += (e.scale * e.code + e.min) * a;
    truth.magnitude += (std::abs(e.scale * e.code) + std::abs(e.min)) * std::abs(a);
  }
  return truth;
}

// There is nothing to choose.
constexpr TileRange kMenuTiles[] = {{1, 1, 1}};
constexpr RowsDefault kDefaults[] = {
    {kAnyRows, {.tile_panels = 1, .tile_rows = 1, .slice = 1, .unpack_rows = 0, .prefetch = 0}}};
constexpr GemmMenu kMenu = {.tiles = kMenuTiles,
                            .slice = {1, 1},
                            .unpack_rows = {0, 0},
                            .prefetch = {0, 0},
                            .to_l2 = false,
                            .defaults = kDefaults};

#define HEARTH_DEFINE(kind, name, level)                  \
  constinit const GemmMenu menu_##name##_##level = kMenu; \
  void gemm_##name##_##level(const GemmArgs& args) { gemm(PackKind::kind, args); }
HEARTH_GEMM_KERNELS(HEARTH_DEFINE, reference)
#undef HEARTH_DEFINE

}  // namespace hearth
