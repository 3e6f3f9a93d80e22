#include "tensor/pack_fp8.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "base/fp_types.h"
#include "tensor/test_pack_fp8.h"

namespace hearth {
namespace {

using Bytes = std::vector<std::byte>;

// Holds a tensor of random bytes, NaN codes among them, and a different scale for every block.
struct Fp8Tensor {
  uint32_t rows, k;
  size_t scale_columns = (k + 127) / 128;
  Bytes codes;
  std::vector<float> scales;

  Fp8Tensor(uint32_t n, uint32_t columns) : rows(n), k(columns), codes(size_t{n} * columns) {
    std::mt19937 random(n + columns);
    for (std::byte& b : codes) b = static_cast<std::byte>(random());
    scales.resize((n + 127) / 128 * scale_columns);
    for (size_t i = 0; i < scales.size(); ++i) scales[i] = 0.001f * static_cast<float>(i + 1);
  }

  float value(size_t r, size_t c) const {
    return scales[r / 128 * scale_columns + c / 128] *
           e4m3_to_f32(std::to_integer<e4m3_t>(codes[r * k + c]));
  }
};

struct PackedFp8 {
  PackSpec spec;
  Bytes codes, scales;

  Fp8Scale scale(uint32_t panel, uint32_t super) const {
    Fp8Scale s;
    std::memcpy(&s, scales.data() + spec.scales_panel_bytes() * panel + sizeof s * super, sizeof s);
    return s;
  }
  // Returns the scale of a row for a super-block, as kFP8R packs it.
  float scale_of_row(uint32_t row, uint32_t super) const {
    float s;
    std::memcpy(
        &s, scales.data() + spec.scales_panel_bytes() * (row / 16) + 64 * super + 4 * (row % 16),
        sizeof s);
    return s;
  }
};

PackedFp8 pack_fp8(const Fp8Tensor& t, uint32_t row0, uint32_t rows, uint32_t k0, uint32_t k,
                   PackKind kind = PackKind::kFP8) {
  PackSpec spec{kind, rows, k, k0};
  PackedFp8 p = {spec, Bytes(spec.codes_bytes(), std::byte{0xa5}),
                 Bytes(spec.scales_bytes(), std::byte{0xa5})};
  Fp8Source source = {.codes = t.codes.data() + size_t{row0} * t.k,
                      .row_stride = t.k,
                      .scales = t.scales.data(),
                      .scale_stride = t.scale_columns,
                      .row_origin = row0};
  for (uint32_t panel = 0; panel < spec.panels(); ++panel) {
    pack_fp8_panels(spec, source, panel, 1, p.codes.data(), p.scales.data());
  }
  return p;
}

void expect_fp8_rows(const Fp8Tensor& t, const PackedFp8& p, uint32_t row0) {
  for (uint32_t r = 0; r < p.spec.rows; ++r) {
    std::vector<float> row(p.spec.k);
    unpack_row(p.spec, p.codes.data(), p.scales.data(), r, row.data());
    for (uint32_t c = 0; c < p.spec.k; ++c) {
      const float want = t.value(row0 + r, p.spec.k_origin + c);
      if (std::isnan(want)) {
        ASSERT_TRUE(std::isnan(row[c])) << r << " " << c;
      } else {
        ASSERT_EQ(row[c], want) << r << " " << c;
      }
    }
  }
}

TEST(PackFp8, RowsComeBackFromEveryCut) {
  Fp8Tensor t(300, 427);
  for (uint32_t row0 : {0u, 16u, 112u, 256u}) {
    for (uint32_t rows : {1u, 17u, 44u}) {
      for (uint32_t k0 : {0u, 32u, 128u, 352u}) {
        expect_fp8_rows(t, pack_fp8(t, row0, rows, k0, 427 - k0), row0);
        expect_fp8_rows(t, pack_fp8(t, row0, rows, k0, 64), row0);
      }
    }
  }
}

TEST(PackFp8, RowsWithScalesOfTheirOwnComeBack) {
  Fp8Tensor t(300, 427);
  // A NaN among the codes makes all values of its row and super-block NaN, since the scale becomes
  // NaN.
  for (std::byte& b : t.codes) {
    if ((b & std::byte{0x7f}) == std::byte{0x7f}) b = std::byte{0x01};
  }
  for (uint32_t row0 : {0u, 7u, 120u, 255u}) {
    for (uint32_t k0 : {0u, 96u, 352u}) {
      const uint32_t rows = 45, k = 427 - k0;
      expect_fp8_rows(t, pack_fp8(t, row0, rows, k0, k, PackKind::kFP8R), row0);
    }
  }
}

TEST(PackFp8, AllRowsMayHaveOneScale) {
  const Fp8Tensor t(16, 300);
  PanelRows rows;
  for (size_t r = 0; r < 16; ++r) rows[r] = t.codes.data() + 300 * r;
  PackedFp8 own = pack_fp8(t, 0, 16, 0, 300, PackKind::kFP8R), one = own;
  pack_fp8_panel(one.spec, rows, {t.scales.data()}, 0, one.codes.data(), one.scales.data());
  EXPECT_EQ(own.codes, one.codes);
  EXPECT_EQ(own.scales, one.scales);
}

TEST(PackFp8, BytesLieWhereTheTableSays) {
  Fp8Tensor t(32, 64);
  PackedFp8 p = pack_fp8(t, 0, 32, 0, 64);
  // Row 22 is lane 6 of panel 1; element 47 is the last of group 3 of block 1.
  EXPECT_EQ(p.codes[1024 + 512 + 3 * 64 + 16 + 8 + 2 * 2 + 1], t.codes[22 * 64 + 47]);
  EXPECT_EQ(pack_fp8(t, 0, 32, 0, 64, PackKind::kFP8R).codes, p.codes);
}

TEST(PackFp8, PaddingIsZero) {
  Fp8Tensor t(19, 75);
  PackedFp8 p = pack_fp8(t, 0, 19, 0, 75);
  for (size_t r = 0; r < 32; ++r) {
    for (size_t c = r < 19 ? 75 : 0; c < 96; ++c) {
      EXPECT_EQ(p.codes[r / 16 * 1536 + c / 32 * 512 + fp8_code_at(r % 16, c % 32)], std::byte{0});
    }
  }
  for (size_t i = sizeof(Fp8Scale); i < 64; ++i) EXPECT_EQ(p.scales[i], std::byte{0});
  PackedFp8 of_rows = pack_fp8(t, 0, 19, 0, 75, PackKind::kFP8R);
  EXPECT_EQ(of_rows.codes, p.codes);
  for (uint32_t r = 19; r < 32; ++r) EXPECT_EQ(of_rows.scale_of_row(r, 0), 0) << r;
}

TEST(PackFp8, RowsWithNanAreMarked) {
  Fp8Tensor t(40, 300);
  std::fill(t.codes.begin(), t.codes.end(), std::byte{0x7e});
  t.codes[5 * 300 + 127] = std::byte{0x7f};
  t.codes[20 * 300 + 128] = std::byte{0xff};
  t.codes[39 * 300 + 299] = std::byte{0x7f};
  PackedFp8 p = pack_fp8(t, 0, 40, 0, 300), of_rows = pack_fp8(t, 0, 40, 0, 300, PackKind::kFP8R);
  for (uint32_t panel = 0; panel < 3; ++panel) {
    for (uint32_t super = 0; super < 3; ++super) {
      const uint32_t row = panel == 0 && super == 0   ? 5
                           : panel == 1 && super == 1 ? 4
                           : panel == 2 && super == 2 ? 7
                                                      : 32;
      EXPECT_EQ(p.scale(panel, super).nan_rows, row == 32 ? 0 : 1u << row) << panel << " " << super;
      for (uint32_t r = 0; r < 16; ++r) {
        EXPECT_EQ(std::isnan(of_rows.scale_of_row(16 * panel + r, super)), r == row) << panel;
      }
    }
  }
  // If a shard begins behind the NaN, no bit is set for it.
  EXPECT_EQ(pack_fp8(t, 16, 16, 160, 140).scale(0, 0).nan_rows, 0u);
}

TEST(PackFp8, SizesAndSupers) {
  PackSpec spec{PackKind::kFP8, 33, 320, 224};
  EXPECT_EQ(spec.super_offset(), 3u);
  EXPECT_EQ(spec.supers(), 4u);  // 1 + 4 + 4 + 1 blocks
  EXPECT_EQ(spec.codes_panel_bytes(), 5120u);
  EXPECT_EQ(spec.scales_panel_bytes(), 64u);
  spec.kind = PackKind::kFP8R;
  EXPECT_EQ(spec.supers(), 4u);
  EXPECT_EQ(spec.codes_panel_bytes(), 5120u);
  EXPECT_EQ(spec.scales_panel_bytes(), 256u);
}

TEST(PackFp8, AKindThatIsNotTheTypesOwnNamesItself) {
  EXPECT_EQ(PackedType(DType::kF8E4M3).kind, PackKind::kFP8);
  EXPECT_EQ(PackedType(DType::kF8E4M3).name(), "fp8");
  EXPECT_EQ(PackedType(DType::kF8E4M3, PackKind::kFP8R).name(), "fp8_rows");
}

}  // namespace
}  // namespace hearth
