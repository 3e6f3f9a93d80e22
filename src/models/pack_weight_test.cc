// Tests that an invalid scale of codes is found if its columns are packed, and only then.
#include "models/pack_weight.h"

#include <gtest/gtest.h>

#include <vector>

#include "formats/source_rows.h"

namespace hearth {
namespace {

constexpr uint32_t kCodeRows = 20, kCodeColumns = 128, kScalesOfRow = kCodeColumns / 16;

// Returns whether columns [k0, k0 + k) of NVFP4 can be packed. All scales are valid except that of
// row 17 and the columns from 48 on, which is `scale`.
bool packs(uint32_t k0, uint32_t k, uint8_t scale) {
  const std::vector<std::byte> codes(size_t{kCodeRows} * kCodeColumns / 2, std::byte{0x21});
  std::vector<std::byte> scales(size_t{kCodeRows} * kScalesOfRow, std::byte{0x38});
  scales[size_t{17} * kScalesOfRow + 3] = std::byte{scale};
  StoredCodes of = {};
  of.rows = kCodeRows;
  of.k = kCodeColumns;
  of.bits = 4;
  of.order = CodeOrder::kAlongRows;
  of.value = CodeValue::kE2M1;
  of.codes.data = codes;
  of.line_bytes = kCodeColumns / 2;
  of.group = 16;
  of.groups = of.scale_row = kScalesOfRow;
  of.scale = ScaleForm::kE4M3;
  of.scales.data = scales;
  of.scale_group = 1;
  SourceTensor tensor = {};
  tensor.dims = {kCodeColumns, kCodeRows};
  tensor.n_elements = uint64_t{kCodeColumns} * kCodeRows;
  tensor.runs.resize(1);
  tensor.runs[0].codes = &of;

  WeightSpec weight = {};
  weight.rows = kCodeRows;
  weight.k = kCodeColumns;
  weight.packed = packed_type(tensor, 0, kCodeRows, kCodeRows);
  weight.data = &tensor;
  Shard shard;
  shard.spec = pack_spec_for(weight.packed, kCodeRows, k, k0);
  std::vector<std::byte> to_codes(shard.spec.codes_bytes()), to_scales(shard.spec.scales_bytes());
  shard.codes = to_codes.data();
  shard.scales = to_scales.data();
  EXPECT_EQ(pack_scratch_bytes(weight), 0u);
  EXPECT_TRUE(pack_weight_panels(weight, shard, 0, 1, nullptr));
  return pack_weight_panels(weight, shard, 1, 1, nullptr);
}

TEST(PackWeight, ScalesOfCodesThatAreNone) {
  EXPECT_TRUE(packs(0, 128, 0x7e));
  for (const uint8_t none : {uint8_t{0x7f}, uint8_t{0xff}, uint8_t{0x81}}) {
    EXPECT_FALSE(packs(0, 128, none)) << int{none};
    EXPECT_FALSE(packs(32, 32, none)) << int{none};
    EXPECT_TRUE(packs(64, 64, none)) << int{none};
  }
}

}  // namespace
}  // namespace hearth
