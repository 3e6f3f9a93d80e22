#include "accelerator/call_time.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

Spread exactly(double value) { return {value, value, value}; }

AcceleratorRates made_rates() {
  AcceleratorRates rates;
  rates.memory = {1 << 20, exactly(1000)};
  rates.command_nanoseconds = exactly(500);
  rates.products = {{PackKind::kQ8_0, 16, 256, exactly(1600)},
                    {PackKind::kQ8_0, 1, 256, exactly(100)},
                    {PackKind::kQ4_0, 1, 256, exactly(50)},
                    {PackKind::kF32, 1, 256, exactly(10)},
                    {PackKind::kBF16, 1, 256, {}, "no bf16"}};
  rates.kernels = {{"rms norm", 64, 2048, exactly(4)},
                   {"attend pages f16", 64, 64, exactly(8)},
                   {"attend pages f16", 64, 128, exactly(16)},
                   {"attend latents f16", 64, 576, exactly(32)},
                   {"silu", 64, 2048, {}, "no silu"}};
  return rates;
}

// Makes a product with 64 x 96 elements.
GemmCall product(PackKind kind, uint32_t rows) {
  GemmCall call{.panels = 4, .block1 = 3, .m = rows};
  call.spec.kind = kind;
  return call;
}

TEST(CallTime, ProductsAreTimedByRows) {
  const CallTime times(made_rates());
  EXPECT_DOUBLE_EQ(times.command_seconds(), 5e-7);
  const double elements = 64 * 96;
  EXPECT_DOUBLE_EQ(work_of(product(PackKind::kQ8_0, 5)), 5 * elements);
  const auto each = [&](PackKind kind, uint32_t rows) {
    return times.seconds(product(kind, rows)) / elements;
  };
  // The figure is 1 / 100 for 1 row and 16 / 1600 for 16 rows. They are equal since reading the
  // matrix takes most of the time in both cases.
  EXPECT_DOUBLE_EQ(each(PackKind::kQ8_0, 1), 0.01);
  EXPECT_DOUBLE_EQ(each(PackKind::kQ8_0, 9), 0.01);
  EXPECT_DOUBLE_EQ(each(PackKind::kQ8_0, 32), 0.02);
  // A kind that was not measured counts as slow as the slowest measured kind with the same format
  // of activations. If no such kind was measured, it counts as slow as the slowest of all.
  EXPECT_DOUBLE_EQ(each(PackKind::kQ6_K, 1), 0.02);
  EXPECT_DOUBLE_EQ(each(PackKind::kBF16, 1), 0.1);
}

TEST(CallTime, OtherCallsAreTimedByTheirWork) {
  const CallTime times(made_rates());
  EXPECT_DOUBLE_EQ(times.seconds(NormCall{.rows = 2, .n = 10}), 5);
  PagedAttendCall attend{.rows = 2, .seen = 3, .heads = 2};
  attend.pages.type = KvType::kF16;
  attend.pages.key_length = attend.pages.value_length = 64;
  EXPECT_DOUBLE_EQ(times.seconds(attend), 3 * 2 * 128 / 8.0);
  attend.pages.key_length = attend.pages.value_length = 96;
  EXPECT_DOUBLE_EQ(times.seconds(attend), 3 * 2 * 192 * (1 / 8.0 + 1 / 16.0) / 2);
  attend.pages.key_length = attend.pages.value_length = 256;
  EXPECT_DOUBLE_EQ(times.seconds(attend), 3 * 2 * 512 / 16.0);
  LatentAttendCall latents{.rows = 2, .seen = 3, .heads = 2, .kv_lora_rank = 40};
  latents.pages.type = KvType::kF16;
  latents.pages.length = 48;
  EXPECT_DOUBLE_EQ(times.seconds(latents), 3 * 2 * (48 + 40) / 32.0);
}

// Each of the three experts is likely to have 4 of the 100 rows. So the call reads and writes 12
// sums. A call that begins the sums writes all 100.
TEST(CallTime, SumsOfRowsWithoutTheExpertsAreNotMoved) {
  const CallTime times(made_rates());
  const FloatRows sums{{0, 0}, 10};
  const Place at = sums.at;
  ExpertAddCall add{.x = sums, .room = 1000, .chosen = at, .weights = at, .place = at, .first = at};
  add.rows = 100;
  add.used = 2;
  add.experts = 3;
  add.likely_rows = 4;
  add.n = 10;
  add.out = sums;
  const double products = 12 * 10 * 4, first = 4 * 4;
  EXPECT_DOUBLE_EQ(times.seconds(add), (products + first + 12 * 2 * 12 + 2 * 12 * 40) / 1000.0);
  add.begins = true;
  EXPECT_DOUBLE_EQ(times.seconds(add), (products + first + 100 * 2 * 12 + 100 * 40) / 1000.0);
}

TEST(CallTime, EstimatesUnmeasuredKernelsByBytesOrMultiplications) {
  const CallTime times(made_rates());
  const FloatRows x{{0, 0}, 10};
  // Two matrices of 3 x 10 floats are read and one written.
  EXPECT_DOUBLE_EQ(times.seconds(AddCall{.a = x, .b = x, .rows = 3, .n = 10, .out = x}), 0.36);
  PagedAttendCall attend{.rows = 2, .seen = 1000, .heads = 2};
  attend.pages.type = KvType::kF32;
  attend.pages.key_length = attend.pages.value_length = 64;
  EXPECT_DOUBLE_EQ(times.seconds(attend), 1000 * 2 * 128 / 10.0);
}

}  // namespace
}  // namespace hearth
