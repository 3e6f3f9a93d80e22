// Packs the kinds with codes of 1 to 8 bits that are not copies of a file's blocks. Each type is
// decoded to codes, with the scales that the file stores (tensor/code_block.h); these codes are put
// into planes (tensor/pack_codes.h).
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/fp_types.h"
#include "tensor/pack_codes.h"

namespace hearth {
namespace {

// Maps value + kCodeZero to a code.
using CodeOf = std::array<uint8_t, 256>;

// The values of codes: in this type `code * Step - Offset`, in the next type an entry of the form's
// table.
template <int Step, int Offset>
struct PlainCodes {
  static int value(const PackForm&, uint8_t code) { return code * Step - Offset; }
};
struct TableCodes {
  static int value(const PackForm& form, uint8_t code) { return form.table->values[code]; }
};

// Returns the code of every value. Rows of padding may hold a value without a code, which gets code
// 0: the scale of such a row is zero.
template <typename Values, size_t Codes>
CodeOf codes_of_values(const PackForm& form) {
  CodeOf codes = {};
  for (size_t code = Codes; code-- > 0;) {
    const int value = Values::value(form, static_cast<uint8_t>(code));
    codes[static_cast<size_t>(value + kCodeZero)] = static_cast<uint8_t>(code);
  }
  return codes;
}

using PanelBlocks = std::array<CodeBlock, kPanelRows>;

template <typename T>
void put_at(std::byte* out, size_t r, T x) {
  std::memcpy(out + r * sizeof(T), &x, sizeof(T));
}

// The start of a panel's scales, and its super-blocks.
struct PanelScales {
  std::byte* at;
  uint32_t super_offset, supers;
};

float factor_of(const PackForm& form) { return form.table == nullptr ? 1 : form.table->factor; }

// The scales of a group of blocks and, with `Min`, their minima, in the forms that PackForm names.
// Zero points are unsigned bytes, or with `SignedZero` signed ones.
template <bool Min, bool SignedZero = false>
struct GroupScales {
  static constexpr ScaleForm kSuper = ScaleForm::kF16, kBlocks = ScaleForm::kNone;
  static constexpr size_t kSuperBytes = 0, kBlockBytes = 0, kHeadBytes = 0;
  static constexpr bool kGrouped = true, kMinima = Min;
  static constexpr uint32_t kElements = kBlock;

  static size_t scale_bytes(const PackForm& form) { return kPanelRows * form_bytes(form.scale); }
  static size_t bytes(const PackForm& form) {
    return scale_bytes(form) + (Min ? kPanelRows * form_bytes(form.min) : 0);
  }
  static void put(const PanelBlocks& rows, const PackForm& form, const PanelScales& to,
                  uint32_t b) {
    std::byte* group = to.at + bytes(form) * ((b + to.super_offset) / form.group_blocks);
    for (size_t r = 0; r < kPanelRows; ++r) {
      const StoredScales& s = rows[r].stored;
      if (form.scale == ScaleForm::kE8M0) {
        put_at(group, r, s.scale[0]);
      } else if (form.scale == ScaleForm::kF32) {
        put_at(group, r, s.wide);
      } else {
        put_at(group, r, s.d);
      }
      if constexpr (!Min) continue;
      if (form.min == ScaleForm::kInteger) {
        put_at(group + scale_bytes(form), r, s.min[0]);
      } else {
        put_at(group + scale_bytes(form), r, s.dmin);
      }
    }
  }
  static float scale_of(const PackForm& form, const std::byte* group, size_t r) {
    switch (form.scale) {
      case ScaleForm::kE8M0:
        return e8m0_to_f32(read_at<uint8_t>(group, r));
      case ScaleForm::kBF16:
        return bf16_to_f32(read_at<bf16_t>(group, r));
      case ScaleForm::kF32:
        return read_at<float>(group, r);
      default:
        return f16_to_f32(read_at<f16_t>(group, r));
    }
  }
  static float min_of(const PackForm& form, float scale, const std::byte* mins, size_t r) {
    if (form.min == ScaleForm::kF16) return f16_to_f32(read_at<f16_t>(mins, r));
    const int zero = SignedZero ? read_at<int8_t>(mins, r) : read_at<uint8_t>(mins, r);
    return -(scale * static_cast<float>(zero));
  }
  static void get(const PackedLane& lane, uint32_t b, CodeBlock& block) {
    const PackForm& form = *lane.form;
    const std::byte* group =
        lane.scales + bytes(form) * ((b + lane.super_offset) / form.group_blocks);
    const float scale = scale_of(form, group, lane.r) * factor_of(form);
    const std::byte* mins = group + scale_bytes(form);
    set_scale(block, scale, Min ? min_of(form, scale, mins, lane.r) : 0);
  }
};

// The layout with all scales of super-blocks first, and then those of blocks.
template <size_t SuperBytes, size_t BlockBytes>
struct SuperThenBlock {
  static constexpr size_t kSuperBytes = SuperBytes, kBlockBytes = BlockBytes, kHeadBytes = 0;
  static constexpr bool kGrouped = false;
  static constexpr ScaleForm kSuper = ScaleForm::kF16, kBlocks = ScaleForm::kInteger;

  template <typename Byte>
  static Byte* super_of(Byte* scales, uint32_t super_offset, uint32_t b) {
    return scales + kSuperBytes * ((b + super_offset) / kSuperBlocks);
  }
  template <typename Byte>
  static Byte* own_of(Byte* scales, uint32_t supers, uint32_t b) {
    return scales + kSuperBytes * supers + kBlockBytes * b;
  }
};

// A binary16 scale for a super-block and, for each block or half of one, a signed byte that
// multiplies it. With `Shifted`, the byte's sign is that of a minimum of 1/8 of the scale.
template <uint32_t Halves, bool Shifted = false>
struct SuperScales : SuperThenBlock<32, size_t{kPanelRows} * Halves> {
  using Base = SuperThenBlock<32, size_t{kPanelRows} * Halves>;
  static constexpr bool kMinima = Shifted;
  static constexpr uint32_t kElements = kBlock / Halves;

  static void put(const PanelBlocks& rows, const PackForm&, const PanelScales& to, uint32_t b) {
    std::byte* super = Base::super_of(to.at, to.super_offset, b);
    std::byte* own = Base::own_of(to.at, to.supers, b);
    for (size_t r = 0; r < kPanelRows; ++r) {
      put_at(super, r, rows[r].stored.d);
      for (size_t h = 0; h < Halves; ++h) put_at(own, kPanelRows * h + r, rows[r].stored.scale[h]);
    }
  }
  static void get(const PackedLane& lane, uint32_t b, CodeBlock& block) {
    const std::byte* super = Base::super_of(lane.scales, lane.super_offset, b);
    const std::byte* own = Base::own_of(lane.scales, lane.supers, b);
    const float d = f16_to_f32(read_at<f16_t>(super, lane.r)) * factor_of(*lane.form);
    for (size_t h = 0; h < 2; ++h) {
      const int sc = read_at<int8_t>(own, kPanelRows * (h % Halves) + lane.r);
      block.scale[h] = d * static_cast<float>(Shifted ? std::abs(sc) : sc);
      block.min[h] = Shifted ? d * static_cast<float>(sc) * 0.125f : 0;
    }
  }
};

// Two binary16 numbers for a super-block and a byte for each half of a block: the scale's factor in
// the low nibble, and the factor of the minimum, which is subtracted, in the high one.
struct NibbleScales : SuperThenBlock<64, 32> {
  static constexpr bool kMinima = true;
  static constexpr uint32_t kElements = kBlock / 2;

  static void put(const PanelBlocks& rows, const PackForm&, const PanelScales& to, uint32_t b) {
    std::byte* super = super_of(to.at, to.super_offset, b);
    std::byte* own = own_of(to.at, to.supers, b);
    for (size_t r = 0; r < kPanelRows; ++r) {
      const StoredScales& s = rows[r].stored;
      put_at(super, r, s.d);
      put_at(super, kPanelRows + r, s.dmin);
      for (size_t h = 0; h < 2; ++h) {
        put_at(own, kPanelRows * h + r, static_cast<uint8_t>(s.scale[h] | s.min[h] << 4));
      }
    }
  }
  static void get(const PackedLane& lane, uint32_t b, CodeBlock& block) {
    const std::byte* super = super_of(lane.scales, lane.super_offset, b);
    const std::byte* own = own_of(lane.scales, lane.supers, b);
    for (size_t h = 0; h < 2; ++h) {
      const uint32_t both = read_at<uint8_t>(own, kPanelRows * h + lane.r);
      block.scale[h] = f16_to_f32(read_at<f16_t>(super, lane.r)) * static_cast<float>(both & 15);
      block.min[h] =
          -(f16_to_f32(read_at<f16_t>(super, kPanelRows + lane.r)) * static_cast<float>(both >> 4));
    }
  }
};

// An E4M3 scale for each half of a block, times a number of the row. The row's number is NaN if one
// of its scales is NaN or negative.
struct RowScales {
  static constexpr ScaleForm kSuper = ScaleForm::kNone, kBlocks = ScaleForm::kE4M3;
  static constexpr size_t kSuperBytes = 0, kBlockBytes = 32, kHeadBytes = 64;
  static constexpr bool kGrouped = false, kMinima = false;
  static constexpr uint32_t kElements = kBlock / 2;

  static void put(const PanelBlocks& rows, const PackForm&, const PanelScales& to, uint32_t b) {
    std::byte* own = to.at + kHeadBytes + kBlockBytes * b;
    for (size_t r = 0; r < kPanelRows; ++r) {
      for (size_t h = 0; h < 2; ++h) {
        const auto code = static_cast<e4m3_t>(rows[r].stored.scale[h]);
        put_at(own, kPanelRows * h + r, code);
        // Kernels ignore the sign of these bytes and do not look for NaN in them. So the row's
        // number becomes NaN if one of its scales is NaN or negative.
        if (code >= 0x7f) put_at(to.at, r, std::numeric_limits<float>::quiet_NaN());
      }
    }
  }
  static void get(const PackedLane& lane, uint32_t b, CodeBlock& block) {
    const float row = read_at<float>(lane.scales, lane.r) * factor_of(*lane.form);
    const std::byte* own = lane.scales + kHeadBytes + kBlockBytes * b;
    for (size_t h = 0; h < 2; ++h) {
      block.scale[h] = row * e4m3_to_f32(read_at<uint8_t>(own, kPanelRows * h + lane.r));
      block.min[h] = 0;
    }
  }
};

// A kind: the layout of its codes, the values of its codes, and the layout of its scales.
template <typename Codes, typename Values, typename Scales>
struct CodedKind {
  static constexpr size_t kValues = size_t{1} << (Codes::kBytes / 64);

  static void pack(const PackSpec& spec, const PanelSource& source, std::byte* codes,
                   std::byte* scales) {
    const CodeOf code_of = codes_of_values<Values, kValues>(spec.form);
    PanelBlocks rows = {};
    for (CodeBlock& row : rows) std::fill_n(row.codes, kBlock, kCodeZero);
    if constexpr (Scales::kHeadBytes != 0) put_row_scales(source, scales);
    const PanelScales to = {scales, spec.super_offset(), spec.supers()};
    for (uint32_t b = 0; b < spec.blocks(); ++b) {
      const size_t block = spec.k_origin / kBlock + b;
      PanelCodes of_rows;
      for (size_t r = 0; r < kPanelRows; ++r) {
        if (source.has(r)) source.read(r, block, rows[r]);
        for (size_t j = 0; j < kBlock; ++j) of_rows.at[r][j] = code_of[rows[r].codes[j]];
      }
      Codes::put(of_rows, codes + Codes::kBytes * b);
      Scales::put(rows, spec.form, to, b);
    }
  }
  static void put_row_scales(const PanelSource& source, std::byte* head) {
    for (size_t r = 0; r < kPanelRows; ++r) put_at(head, r, source.scale_of(r));
  }
  static void unpack(const PackedLane& lane, uint32_t b, CodeBlock& block) {
    Codes::get(lane.codes + Codes::kBytes * b, lane.r, block.codes);
    for (uint8_t& code : block.codes) {
      code = static_cast<uint8_t>(Values::value(*lane.form, code) + kCodeZero);
    }
    Scales::get(lane, b, block);
  }
  static constexpr PackKindInfo row(const char* name) {
    return {.name = name,
            .code_bytes = Codes::kBytes,
            .scale_bytes = Scales::kBlockBytes,
            .super_bytes = Scales::kSuperBytes,
            .head_bytes = Scales::kHeadBytes,
            .grouped = Scales::kGrouped,
            .block_scale = Scales::kBlocks,
            .super_scale = Scales::kSuper,
            .scale_elements = Scales::kElements,
            .minima = Scales::kMinima,
            .pack = pack,
            .unpack_codes = unpack};
  }
};

}  // namespace

constinit const PackKindInfo kind_q2_k =
    CodedKind<TwoBitCodes, PlainCodes<1, 0>, NibbleScales>::row("q2_k");
constinit const PackKindInfo kind_iq1_s =
    CodedKind<TwoBitCodes, PlainCodes<1, 1>, SuperScales<1, true>>::row("iq1_s");
constinit const PackKindInfo kind_l4 =
    CodedKind<FourBitCodes, TableCodes, GroupScales<false>>::row("l4");
constinit const PackKindInfo kind_l4m =
    CodedKind<FourBitCodes, PlainCodes<1, 0>, GroupScales<true>>::row("l4m");
constinit const PackKindInfo kind_l4k =
    CodedKind<FourBitCodes, TableCodes, SuperScales<1>>::row("l4k");
constinit const PackKindInfo kind_l4h = CodedKind<FourBitCodes, TableCodes, RowScales>::row("l4h");
constinit const PackKindInfo kind_l5 =
    CodedKind<FiveBitCodes, PlainCodes<1, 16>, GroupScales<false>>::row("l5");
constinit const PackKindInfo kind_l5m =
    CodedKind<FiveBitCodes, PlainCodes<1, 0>, GroupScales<true>>::row("l5m");
constinit const PackKindInfo kind_l8 =
    CodedKind<EightBitCodes, PlainCodes<1, 128>, GroupScales<false>>::row("l8");
constinit const PackKindInfo kind_l8m =
    CodedKind<EightBitCodes, PlainCodes<1, 128>, GroupScales<true, true>>::row("l8m");
constinit const PackKindInfo kind_l3k =
    CodedKind<ThreeBitCodes, TableCodes, SuperScales<1>>::row("l3k");
constinit const PackKindInfo kind_l3h =
    CodedKind<ThreeBitCodes, TableCodes, SuperScales<2>>::row("l3h");
constinit const PackKindInfo kind_l2 =
    CodedKind<TwoBitCodes, PlainCodes<1, 1>, GroupScales<false>>::row("l2");
constinit const PackKindInfo kind_l1 =
    CodedKind<OneBitCodes, PlainCodes<2, 1>, GroupScales<false>>::row("l1");

}  // namespace hearth
