// F32, F16 and BF16 by FMA. With few rows BF16 is widened in registers, since memory is the limit.
// With many rows slices of it are widened once for all rows (gemm_widen-inl.h).
#include "kernels/simd/vec16_avx512-inl.h"

// The headers below need Vec16.
#include "kernels/gemm/gemm_avx512_float-inl.h"
#include "kernels/gemm/gemm_kernels.h"

namespace hearth {
namespace {

inline Vec16Pair widen_pairs(__m512i x) {
  const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xffff0000));
  return {{_mm512_castsi512_ps(_mm512_slli_epi32(x, 16))},
          {_mm512_castsi512_ps(_mm512_and_si512(x, upper))}};
}
inline Vec16Pair load_bf16_pairs(const std::byte* p) { return widen_pairs(load_codes(p)); }

struct KindBF16 {
  static constexpr size_t kStep = 2;
  static constexpr size_t kStepBytes = 64;
  using Element = bf16_t;
  using Register = Vec16Pair;

  static Register load(const std::byte* codes) { return load_bf16_pairs(codes); }
  static Register broadcast(const bf16_t* x) { return widen_pairs(broadcast4(x)); }
  static __m512 add(__m512 acc, Register w, Register x) {
    return _mm512_fmadd_ps(w.odd.x, x.odd.x, _mm512_fmadd_ps(w.even.x, x.even.x, acc));
  }
  static const bf16_t* elements(const ActView& a) { return a.bf16; }
};

}  // namespace
}  // namespace hearth

#include "kernels/gemm/gemm_widen_bf16-inl.h"

namespace hearth {
namespace {

// Widened codes are multiplied two panels at a time, whatever the schedule's tile.
void bf16_chains(const GemmArgs& g) {
  const GemmSchedule& s = g.schedule;
  if (g.m < s.unpack_rows) return chains<KindBF16>(g);
  const uint32_t max_rows = s.tile_panels == kWidePanels ? kTileRows : s.tile_rows;
  using Source = WidenBf16;
  widened_chains<Source, kTilePanels>(
      g, s, [=]<int P>(std::integral_constant<int, P>, const WidenedWork& w) {
        for_tiles(w.m, max_rows, [&](uint32_t row, uint32_t rows, uint32_t, uint32_t) {
          auto fn = tile_fn<KindF32, P>(rows, std::make_integer_sequence<int, kTileRows>());
          fn(w.codes, kWidenedPanelBytes, w.x + kWidenedStride * row, kWidenedStride, w.blocks,
             w.first, {0, Cache::kL1}, w.out + row * w.out_stride, w.out_stride);
        });
      });
}

}  // namespace

constinit const GemmMenu menu_f32_avx512bw = kMenu<KindF32>;
constinit const GemmMenu menu_f16_avx512bw = kMenu<KindF16>;
constinit const GemmMenu menu_bf16_avx512bw = kMenu<KindBF16, /*Unpacks=*/true>;

void gemm_f32_avx512bw(const GemmArgs& args) { gemm<KindF32>(args); }
void gemm_f16_avx512bw(const GemmArgs& args) { gemm<KindF16>(args); }
void gemm_bf16_avx512bw(const GemmArgs& args) {
  for_segments(args, joint_panels(args.schedule, args.m), bf16_chains);
}

}  // namespace hearth
