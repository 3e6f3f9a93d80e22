// BF16 and FP8 by bfmmla, which multiplies 2 weight rows x 4 elements of K by those of 2 rows of
// activations, in the tiles of gemm_float-inl.h and gemm_fp8-inl.h. BF16 of one row takes bfdot.
//
// bfmmla and bfdot give the same bits: the architecture defines bfmmla as two bfdot for every
// output, in ascending k. (Each bfdot rounds the sum of two products to odd, adds it to the
// accumulator and rounds that sum to odd, and flushes subnormals. That holds if FPCR.EBF is 0, as
// Linux leaves it; with 1 both instructions round otherwise, but alike.) So rows may be paired in
// any way, and an odd last row is paired with itself.
//
// Instructions of a tile for a panel and 4 elements of K:
//   1 row    8 bfdot or 8 bfmmla, for which BF16 would need 8 zips besides
//   4 rows   32 bfdot or 16 bfmmla
// FP8's decoder orders the elements at no cost, so FP8 has bfmmla only. BF16 with many rows has a
// slice zipped once for all. Tiles of six rows, which bfdot has, would leave no registers for the
// weights.
#include <arm_bf16.h>

#include <algorithm>

#include "kernels/gemm/gemm_neon-inl.h"

namespace hearth {
namespace {

// A panel's weights of 4 elements of K: register i has rows 2 i and 2 i + 1.
struct MmlaWeights {
  bfloat16x8_t v[8];
};

template <int R>
struct MmlaSums {
  static constexpr size_t kPairs = (R + 1) / 2;
  // Products of weight rows w and activation rows x: w0 x0, w0 x1, w1 x0, w1 x1.
  float32x4_t v[kPairs][8];

  static size_t partner(size_t pair) { return std::min<size_t>(2 * pair + 1, R - 1); }
  static bfloat16x4_t four(const bf16_t* x) { return vreinterpret_bf16_u16(vld1_u16(x)); }

  static MmlaSums start(const float* out, size_t stride, bool first) {
    MmlaSums s;
    HEARTH_UNROLL
    for (size_t p = 0; p < kPairs; ++p) {
      HEARTH_UNROLL
      for (size_t i = 0; i < 4; ++i) {
        const float32x4_t zero = vdupq_n_f32(0);
        const float32x4_t a = first ? zero : vld1q_f32(out + stride * 2 * p + 4 * i);
        const float32x4_t b = first ? zero : vld1q_f32(out + stride * partner(p) + 4 * i);
        s.v[p][2 * i] = vzip1q_f32(a, b);
        s.v[p][2 * i + 1] = vzip2q_f32(a, b);
      }
    }
    return s;
  }
  void add(const MmlaWeights& w, const bf16_t* x, size_t stride) {
    bfloat16x8_t rows[kPairs];
    HEARTH_UNROLL
    for (size_t p = 0; p < kPairs; ++p) {
      rows[p] = vcombine_bf16(four(x + stride * 2 * p), four(x + stride * partner(p)));
    }
    HEARTH_UNROLL
    for (size_t i = 0; i < 8; ++i) {
      HEARTH_UNROLL
      for (size_t p = 0; p < kPairs; ++p) v[p][i] = vbfmmlaq_f32(v[p][i], w.v[i], rows[p]);
    }
  }
  // The function is inlined by force: GCC confuses its instances for different numbers of rows, and
  // warns.
  [[gnu::always_inline]] Vec16 row(size_t r) const {
    const float32x4_t(&pair)[8] = v[r / 2];
    if (r % 2 == 0) {
      return {vuzp1q_f32(pair[0], pair[1]), vuzp1q_f32(pair[2], pair[3]),
              vuzp1q_f32(pair[4], pair[5]), vuzp1q_f32(pair[6], pair[7])};
    }
    return {vuzp2q_f32(pair[0], pair[1]), vuzp2q_f32(pair[2], pair[3]),
            vuzp2q_f32(pair[4], pair[5]), vuzp2q_f32(pair[6], pair[7])};
  }
};

struct Fp8Shape {
  static constexpr int kWideRows = 1, kWidePanels = 2;
  static constexpr int kFewRows = 4, kPanels = 1;
  static constexpr int kTileRows = 4;
};

// A register of codes has two pairs of elements for each of 4 rows: first the first pairs of all
// rows, then the second ones. tbl brings the 4 elements of a row together while it joins their
// bytes.
struct Fp8Decoder : Fp8Bytes {
  static constexpr uint8_t kOrder[2][16] = {
      {0, 16, 1, 17, 8, 24, 9, 25, 2, 18, 3, 19, 10, 26, 11, 27},
      {4, 20, 5, 21, 12, 28, 13, 29, 6, 22, 7, 23, 14, 30, 15, 31}};
  uint8x16_t order[2] = {vld1q_u8(kOrder[0]), vld1q_u8(kOrder[1])};

  Fp8Pairs decode(const Codes& c) const {
    Fp8Pairs pairs;
    HEARTH_UNROLL
    for (size_t i = 0; i < 4; ++i) {
      const uint8x16x2_t bytes = of(c.v[i]);
      pairs.first.v[i] = vqtbl2q_u8(bytes, order[0]);
      pairs.second.v[i] = vqtbl2q_u8(bytes, order[1]);
    }
    return pairs;
  }
};

template <int R>
struct Fp8Sums : MmlaSums<R> {
  static Fp8Sums start(const float* out, size_t stride, bool first) {
    return {MmlaSums<R>::start(out, stride, first)};
  }
  void add(const Fp8Pairs& w, const bf16_t* x, size_t stride) {
    MmlaWeights weights;
    HEARTH_UNROLL
    for (size_t i = 0; i < 4; ++i) {
      weights.v[2 * i] = vreinterpretq_bf16_u8(w.first.v[i]);
      weights.v[2 * i + 1] = vreinterpretq_bf16_u8(w.second.v[i]);
    }
    MmlaSums<R>::add(weights, x, stride);
  }
};

template <int R, size_t P>
void add_panels(Fp8Sums<R> (&sums)[P], const Fp8Pairs (&w)[P], const bf16_t* x, size_t stride) {
  HEARTH_UNROLL
  for (size_t p = 0; p < P; ++p) sums[p].add(w[p], x, stride);
}

}  // namespace
}  // namespace hearth

#include "kernels/gemm/gemm_float-inl.h"
#include "kernels/gemm/gemm_fp8-inl.h"

namespace hearth {
namespace {

struct FloatBf16Dot {
  static constexpr int kTileRows = 1, kTwoPanelRows = 1, kFourPanelRows = 1;
  static constexpr size_t kStep = 2;
  static constexpr size_t kStepBytes = 64;
  using Element = bf16_t;
  using Step = Codes;
  template <int R>
  using Sums = LaneSums<FloatBf16Dot, R>;

  static Step load(const std::byte* codes) { return load_codes(codes); }
  static bfloat16x8_t all(const bf16_t* x) {
    uint32_t two;
    __builtin_memcpy(&two, x, sizeof two);
    return vreinterpretq_bf16_u32(vdupq_n_u32(two));
  }
  static Vec16 add(const Codes& w, bfloat16x8_t x, const Vec16& acc) {
    auto dot = [&](float32x4_t sum, size_t i) {
      return vbfdotq_f32(sum, vreinterpretq_bf16_u8(w.v[i]), x);
    };
    return {dot(acc.a, 0), dot(acc.b, 1), dot(acc.c, 2), dot(acc.d, 3)};
  }
  static const bf16_t* elements(const ActView& a) { return a.bf16; }
};

// Weights in the order of MmlaWeights, 4 elements of K a step.
struct FloatBf16Ordered {
  static constexpr int kTileRows = 4, kTwoPanelRows = 2, kFourPanelRows = 0;
  static constexpr size_t kStep = 4;
  static constexpr size_t kStepBytes = 128;
  using Element = bf16_t;
  template <int R>
  using Sums = MmlaSums<R>;

  static MmlaWeights load(const std::byte* codes) {
    MmlaWeights w;
    HEARTH_UNROLL
    for (size_t i = 0; i < 8; ++i) {
      w.v[i] = vreinterpretq_bf16_u8(vld1q_u8(reinterpret_cast<const uint8_t*>(codes) + 16 * i));
    }
    return w;
  }
  static const bf16_t* elements(const ActView& a) { return a.bf16; }
};

// Weights as packed, in pairs of elements of K.
struct FloatBf16Mmla : FloatBf16Ordered {
  static MmlaWeights load(const std::byte* codes) {
    const Codes first = load_codes(codes), second = load_codes(codes + 64);
    MmlaWeights w;
    HEARTH_UNROLL
    for (size_t i = 0; i < 4; ++i) {
      const uint32x4_t a = vreinterpretq_u32_u8(first.v[i]), b = vreinterpretq_u32_u8(second.v[i]);
      w.v[2 * i] = vreinterpretq_bf16_u32(vzip1q_u32(a, b));
      w.v[2 * i + 1] = vreinterpretq_bf16_u32(vzip2q_u32(a, b));
    }
    return w;
  }
};

constexpr size_t kBf16BlockBytes = size_t{kBlock} * kPanelRows * sizeof(bf16_t);
// Tiles of four panels have one row and use bfdot, which needs no reordering of the weights.
constexpr TileRange kBf16Tiles[] = {
    {1, 1, FloatBf16Mmla::kTileRows},
    {2, 1, FloatBf16Mmla::kTwoPanelRows, 1, FloatBf16Ordered::kTileRows},
    {4, 1, FloatBf16Dot::kFourPanelRows}};
constexpr GemmMenu kMmlaMenu = [] {
  GemmMenu menu = kFloatMenu<FloatBf16Mmla, /*Unpacks=*/true>;
  menu.tiles = kBf16Tiles;
  return menu;
}();

void order_panel(const std::byte* codes, uint32_t blocks, size_t ahead, std::byte* to) {
  constexpr size_t kBytes = FloatBf16Mmla::kStepBytes;
  for (size_t at = 0; at < blocks * kBf16BlockBytes; at += kBytes) {
    const MmlaWeights w = FloatBf16Mmla::load(codes + at);
    if (ahead != 0) prefetch_range(codes + at + ahead, kBytes);
    HEARTH_UNROLL
    for (size_t i = 0; i < 8; ++i) {
      vst1q_u8(reinterpret_cast<uint8_t*>(to + at) + 16 * i, vreinterpretq_u8_bf16(w.v[i]));
    }
  }
}

void mmla_chains(const GemmArgs& g) {
  const GemmSchedule& s = g.schedule;
  if (g.m < s.unpack_rows) return float_chains<FloatBf16Mmla>(g, s);
  static_assert(kMmlaMenu.slice.most * kBf16BlockBytes <= kChainScratchBytes);
  const uint32_t max_rows = s.tile_panels == 1 ? s.tile_rows : FloatBf16Ordered::kTileRows;
  using Kind = FloatBf16Ordered;
  for (uint32_t p = 0; p < g.panels; ++p) {
    const std::byte* codes = g.w.codes + g.w.codes_panel_bytes * (g.panel0 + p);
    for_even_pieces(g.block1 - g.block0, s.slice, [&](uint32_t begin, uint32_t end) {
      const size_t block0 = g.block0 + begin;
      order_panel(codes + kBf16BlockBytes * block0, end - begin, s.prefetch, g.scratch);
      for_even_pieces(g.m, max_rows, [&](uint32_t row, uint32_t row_end) {
        FloatTile<Kind> t = {.codes = g.scratch,
                             .codes_stride = 0,
                             .x = g.a.bf16 + g.a.row_stride * row + kBlock * block0,
                             .x_stride = g.a.row_stride,
                             .blocks = end - begin,
                             .first = begin == 0,
                             .ahead = 0,
                             .out = g.out + g.out_stride * row + size_t{kPanelRows} * p,
                             .out_stride = g.out_stride};
        float_tile_of<Kind, 1>(row_end - row, t,
                               std::make_integer_sequence<int, Kind::kTileRows>());
      });
    });
  }
}

}  // namespace

constinit const GemmMenu menu_bf16_i8mmbf16 = kMmlaMenu;
constinit const GemmMenu menu_fp8_i8mmbf16 = kFp8Menu;
constinit const GemmMenu menu_fp8_rows_i8mmbf16 = kFp8Menu;

void gemm_bf16_i8mmbf16(const GemmArgs& args) {
  if (args.schedule.tile_panels == 4) return gemm_float<FloatBf16Dot>(args);
  for_segments(args, joint_panels(args.schedule, args.m), mmla_chains);
}
void gemm_fp8_i8mmbf16(const GemmArgs& args) { gemm_fp8<SharedFp8Scale>(args); }
void gemm_fp8_rows_i8mmbf16(const GemmArgs& args) { gemm_fp8<OwnFp8Scales>(args); }

}  // namespace hearth
