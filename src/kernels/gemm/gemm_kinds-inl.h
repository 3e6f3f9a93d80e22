// The quantised pack kinds (tensor/pack_spec.h) as kernels see them: how to make the codes of a
// group, and the scale and the minimum of a block. Before this file a level defines
//   Codes                          16 rows x 4 codes as bytes: 64 bytes
//   load_codes(p)
//   low_nibbles(codes), high_nibbles(codes)
//   bits_of(codes, left, mask)     (codes shifted left by `left`, right if negative) & mask, with
//                                  the mask in every byte
//   with_bits(low, codes, left, mask)   low | bits_of(codes, left, mask)
//   Table, load_table(p)           16 bytes, each plus 128
//   look_up(table, codes)          the bytes at codes below 16
//   Floats                         16 floats
//   all_lanes(x), mul(a, b), negate(a), absolute(a)
//   load_f32, load_f16, load_bf16, load_i8, load_u8(p), load_low_four, load_high_four(p)
//                                  16 numbers; the last two are nibbles of bytes
//   load_e8m0, load_e4m3(p)        16 scales of a byte, as base/fp_types.h has them
#pragma once

#include <bit>
#include <type_traits>

#include "kernels/gemm/gemm.h"
#include "kernels/simd/unroll.h"

namespace hearth {
namespace {

// The codes and scales of one panel; a tile starts at block `block`.
struct PanelView {
  const std::byte* codes;
  const std::byte* scales;
  uint32_t super_offset;
  uint32_t supers;
  uint32_t block;
  const PackForm* form;  // null for a slice that a kernel has unpacked
  uint32_t group_shift;  // blocks of a group, as a power of two
  uint32_t group_bytes;
};

// Returns panel `panel` of the shard, from block `block` on.
inline PanelView panel_of(const GemmArgs& g, uint32_t panel, uint32_t block) {
  return {.codes = g.w.codes + g.w.codes_panel_bytes * panel,
          .scales = g.w.scales + g.w.scales_panel_bytes * panel,
          .super_offset = g.w.super_offset,
          .supers = g.w.supers,
          .block = block,
          .form = &g.w.form,
          .group_shift = static_cast<uint32_t>(std::countr_zero(g.w.form.group_blocks)),
          .group_bytes = g.w.group_bytes};
}

struct NoTable {};

// The layout of codes and their meaning:
//   kBits, kOffset   of the codes that group() returns
//   kNibbles         whether groups g and g + 4 share their bytes and are best taken in turn
//   kCodeBytes       the bytes of a block's codes in a panel
//   Lookup           Table, or NoTable
//   group()          returns the codes of group g
template <int Bits, int Offset, size_t Bytes, bool Nibbles, typename LookedUpIn = NoTable>
struct CodesOfBits {
  static constexpr int kBits = Bits, kOffset = Offset;
  static constexpr bool kNibbles = Nibbles;
  static constexpr size_t kCodeBytes = Bytes;
  using Lookup = LookedUpIn;
};

template <int Bits, int Offset>
struct ByteCodes : CodesOfBits<Bits, Offset, 512, false> {
  static Codes group(const std::byte* codes, int g, NoTable) { return load_codes(codes + 64 * g); }
};

inline Codes nibbles_of(const std::byte* codes, int g) {
  const Codes both = load_codes(codes + 64 * (g % 4));
  return g < 4 ? low_nibbles(both) : high_nibbles(both);
}

template <int Offset>
struct FourBits : CodesOfBits<4, Offset, 256, true> {
  static Codes group(const std::byte* codes, int g, NoTable) { return nibbles_of(codes, g); }
};

// Codes of five bits use the dot product for codes of six bits, since there is none for five.
template <int Offset>
struct FiveBits : CodesOfBits<6, Offset, 320, true> {
  static Codes group(const std::byte* codes, int g, NoTable) {
    return with_bits(nibbles_of(codes, g), load_codes(codes + 256), 4 - g, 0x10);
  }
};

// Codes of six bits are unpacked by half blocks, since whole blocks need too many registers.
struct SixBits : CodesOfBits<6, 32, 384, false> {
  static Codes group(const std::byte* codes, int g, NoTable) {
    return with_bits(nibbles_of(codes, g), load_codes(codes + 256 + 64 * (g / 4)), 4 - 2 * (g % 4),
                     0x30);
  }
};

inline Codes two_bits_of(const std::byte* codes, int g) {
  return bits_of(load_codes(codes + 64 * (g / 4)), -2 * (g % 4), 3);
}

template <int Offset>
struct TwoBits : CodesOfBits<4, Offset, 128, false> {
  static Codes group(const std::byte* codes, int g, NoTable) { return two_bits_of(codes, g); }
};

// A bit b stands for 2 b - 1.
struct OneBit : CodesOfBits<4, 1, 64, false> {
  static Codes group(const std::byte* codes, int g, NoTable) {
    return bits_of(load_codes(codes), 1 - g, 2);
  }
};

// Halves of a block are taken one after the other if each has its own scale.
template <int Halves>
struct FourBitsOfTable : CodesOfBits<8, 128, 256, Halves == 1, Table> {
  static Codes group(const std::byte* codes, int g, const Table& table) {
    return look_up(table, nibbles_of(codes, g));
  }
};

struct ThreeBitsOfTable : CodesOfBits<8, 128, 192, false, Table> {
  static Codes group(const std::byte* codes, int g, const Table& table) {
    return look_up(table, with_bits(two_bits_of(codes, g), load_codes(codes + 128), 2 - g, 4));
  }
};

// The layout of scales:
//   kHalves          scales a block: 1, or 2 for halves of 16
//   kMin             whether it has minima
//   kScaleBytes      the most bytes of a block's scales; scale_step(w): those in this pack
//   scales_start()   the offset of the first scale in the scales of a panel
//   scale(), min()   of half h of block b
template <int Halves, bool Min>
struct FloatScales {
  static constexpr int kHalves = Halves;
  static constexpr bool kMin = Min;
  static constexpr size_t kScaleBytes = size_t{64} * Halves * (Min ? 2 : 1);
  static size_t scale_step(const PanelView&) { return kScaleBytes; }
  static size_t scales_start(const PanelView&) { return 0; }
  static Floats scale(const PanelView& w, uint32_t b, int h) {
    return load_f32(w.scales + kScaleBytes * b + 64 * h);
  }
  static Floats min(const PanelView& w, uint32_t b, int h) {
    return load_f32(w.scales + kScaleBytes * b + 64 * (Halves + h));
  }
};

struct HalfScales {
  static constexpr int kHalves = 1;
  static constexpr bool kMin = false;
  static constexpr size_t kScaleBytes = 32;
  static size_t scale_step(const PanelView&) { return kScaleBytes; }
  static size_t scales_start(const PanelView&) { return 0; }
  static Floats scale(const PanelView& w, uint32_t b, int) {
    return load_f16(w.scales + kScaleBytes * b);
  }
};

// Scales of super-blocks take `SuperBytes`, those of blocks `BlockBytes`.
template <int Halves, bool Min, size_t SuperBytes, size_t BlockBytes>
struct ScalesOfSuper {
  static constexpr int kHalves = Halves;
  static constexpr bool kMin = Min;
  static constexpr size_t kScaleBytes = BlockBytes;
  static size_t scale_step(const PanelView&) { return kScaleBytes; }
  static size_t scales_start(const PanelView& w) { return SuperBytes * w.supers; }
  static const std::byte* super(const PanelView& w, uint32_t b) {
    return w.scales + SuperBytes * ((b + w.super_offset) / kSuperBlocks);
  }
  static const std::byte* own(const PanelView& w, uint32_t b) {
    return w.scales + scales_start(w) + kScaleBytes * b;
  }
};

// The scales of kQ4_K and kQ5_K.
struct ScalesAndMinima : ScalesOfSuper<1, true, 64, 32> {
  static Floats scale(const PanelView& w, uint32_t b, int) {
    return mul(load_f16(super(w, b)), load_u8(own(w, b)));
  }
  static Floats min(const PanelView& w, uint32_t b, int) {
    return negate(mul(load_f16(super(w, b) + 32), load_u8(own(w, b) + 16)));
  }
};

// The scales of kQ2_K.
struct NibbleScales : ScalesOfSuper<2, true, 64, 32> {
  static Floats scale(const PanelView& w, uint32_t b, int h) {
    return mul(load_f16(super(w, b)), load_low_four(own(w, b) + 16 * h));
  }
  static Floats min(const PanelView& w, uint32_t b, int h) {
    return negate(mul(load_f16(super(w, b) + 32), load_high_four(own(w, b) + 16 * h)));
  }
};

// A signed byte for each block or half block. With `Factor`, scales have the table's factor, too.
template <int Halves, bool Factor>
struct SignedScales : ScalesOfSuper<Halves, false, 32, size_t{16} * Halves> {
  using Base = ScalesOfSuper<Halves, false, 32, size_t{16} * Halves>;
  static Floats scale(const PanelView& w, uint32_t b, int h) {
    const Floats each = load_i8(Base::own(w, b) + 16 * h);
    Floats d = load_f16(Base::super(w, b));
    if constexpr (Factor) d = mul(d, all_lanes(w.form->table->factor));
    return mul(d, each);
  }
};

// The scales of kIQ1_S. The sign belongs to the minimum, which is an eighth of the scale.
struct ShiftedScales : ScalesOfSuper<1, true, 32, 16> {
  static Floats scale(const PanelView& w, uint32_t b, int) {
    return mul(load_f16(super(w, b)), absolute(load_i8(own(w, b))));
  }
  static Floats min(const PanelView& w, uint32_t b, int) {
    return mul(mul(load_f16(super(w, b)), load_i8(own(w, b))), all_lanes(0.125f));
  }
};

// The scales of kL4H: E4M3, times one number a row at the start of a panel.
struct RowScales {
  static constexpr int kHalves = 2;
  static constexpr bool kMin = false;
  static constexpr size_t kScaleBytes = 32;
  static size_t scale_step(const PanelView&) { return kScaleBytes; }
  static size_t scales_start(const PanelView&) { return 64; }
  static Floats scale(const PanelView& w, uint32_t b, int h) {
    const Floats row = mul(load_f32(w.scales), all_lanes(w.form->table->factor));
    return mul(row, load_e4m3(w.scales + scales_start(w) + kScaleBytes * b + 16 * h));
  }
};

// The scales of groups of blocks, in the forms that PackForm says. Branches on the form cost
// little, since they go the same way at every block. Zero points are bytes; with `SignedZero` they
// have a sign.
template <bool Min, bool Factor, bool SignedZero = false>
struct GroupScales {
  static constexpr int kHalves = 1;
  static constexpr bool kMin = Min;
  static constexpr size_t kScaleBytes = Min ? 96 : 64;
  static size_t scale_step(const PanelView& w) { return w.group_bytes >> w.group_shift; }
  static size_t scales_start(const PanelView&) { return 0; }
  static const std::byte* group_of(const PanelView& w, uint32_t b) {
    return w.scales + size_t{w.group_bytes} * ((b + w.super_offset) >> w.group_shift);
  }
  static Floats stored(const PanelView& w, const std::byte* group) {
    if (w.form->scale == ScaleForm::kF16) return load_f16(group);
    if (w.form->scale == ScaleForm::kBF16) return load_bf16(group);
    if (w.form->scale == ScaleForm::kF32) return load_f32(group);
    return load_e8m0(group);
  }
  static Floats scale(const PanelView& w, uint32_t b, int) {
    const Floats x = stored(w, group_of(w, b));
    if constexpr (!Factor) return x;
    return mul(x, all_lanes(w.form->table->factor));
  }
  static Floats min(const PanelView& w, uint32_t b, int) {
    const std::byte* group = group_of(w, b);
    // The scales of 16 rows come before the minima.
    const bool f16 = w.form->min == ScaleForm::kF16;
    const std::byte* mins = group + w.group_bytes - (f16 ? 32 : 16);
    if (f16) return load_f16(mins);
    return negate(mul(stored(w, group), SignedZero ? load_i8(mins) : load_u8(mins)));
  }
};

template <typename CodesOf, typename ScalesOf>
struct Kind : CodesOf, ScalesOf {
  using typename CodesOf::Lookup;
  // Returns the table in which group() looks codes up.
  static Lookup lookup([[maybe_unused]] const PanelView& w) {
    if constexpr (std::is_same_v<Lookup, NoTable>) {
      return {};
    } else {
      return load_table(w.form->table->values.data());
    }
  }
};

using KindQ8_0 = Kind<ByteCodes<8, 128>, HalfScales>;
using KindQ4_0 = Kind<FourBits<8>, HalfScales>;
using KindQ4_K = Kind<FourBits<0>, ScalesAndMinima>;
using KindQ5_K = Kind<FiveBits<0>, ScalesAndMinima>;
using KindQ6_K = Kind<SixBits, SignedScales<2, false>>;

// The kinds that kernels unpack other kinds to: codes of a byte, scales and minima as floats.
template <int Bits, int Offset, int Halves, bool Min>
using KindBytes = Kind<ByteCodes<Bits, Offset>, FloatScales<Halves, Min>>;

template <PackKind>
struct KindOfPack;
#define HEARTH_KIND_OF(kind, ...) \
  template <>                     \
  struct KindOfPack<PackKind::kind> : std::type_identity<__VA_ARGS__> {}
HEARTH_KIND_OF(kQ8_0, KindQ8_0);
HEARTH_KIND_OF(kQ4_0, KindQ4_0);
HEARTH_KIND_OF(kQ4_K, KindQ4_K);
HEARTH_KIND_OF(kQ5_K, KindQ5_K);
HEARTH_KIND_OF(kQ6_K, KindQ6_K);
HEARTH_KIND_OF(kQ2_K, Kind<TwoBits<0>, NibbleScales>);
HEARTH_KIND_OF(kIQ1_S, Kind<TwoBits<1>, ShiftedScales>);
HEARTH_KIND_OF(kL4, Kind<FourBitsOfTable<1>, GroupScales<false, true>>);
HEARTH_KIND_OF(kL4M, Kind<FourBits<0>, GroupScales<true, false>>);
HEARTH_KIND_OF(kL4K, Kind<FourBitsOfTable<1>, SignedScales<1, true>>);
HEARTH_KIND_OF(kL4H, Kind<FourBitsOfTable<2>, RowScales>);
HEARTH_KIND_OF(kL5, Kind<FiveBits<16>, GroupScales<false, false>>);
HEARTH_KIND_OF(kL5M, Kind<FiveBits<0>, GroupScales<true, false>>);
HEARTH_KIND_OF(kL8, Kind<ByteCodes<8, 128>, GroupScales<false, false>>);
HEARTH_KIND_OF(kL8M, Kind<ByteCodes<8, 128>, GroupScales<true, false, true>>);
HEARTH_KIND_OF(kL3K, Kind<ThreeBitsOfTable, SignedScales<1, true>>);
HEARTH_KIND_OF(kL3H, Kind<ThreeBitsOfTable, SignedScales<2, true>>);
HEARTH_KIND_OF(kL2, Kind<TwoBits<1>, GroupScales<false, false>>);
HEARTH_KIND_OF(kL1, Kind<OneBit, GroupScales<false, false>>);
#undef HEARTH_KIND_OF
template <PackKind kind>
using KindOf = typename KindOfPack<kind>::type;

}  // namespace
}  // namespace hearth
