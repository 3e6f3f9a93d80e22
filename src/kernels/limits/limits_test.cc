#include "kernels/limits/limits.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/test_levels.h"

namespace hearth {
namespace {

UnitFn loop(Isa isa, ArithmeticUnit unit) {
  return kernels_for(isa).limits.unit[static_cast<size_t>(unit)];
}

TEST(LimitsTest, OperationsGrowWithTheRounds) {
  for (Isa isa : test_levels()) {
    for (size_t i = 0; i < kArithmeticUnits; ++i) {
      UnitFn ops = loop(isa, static_cast<ArithmeticUnit>(i));
      EXPECT_EQ(ops(0), 0) << isa_name(isa);
      EXPECT_EQ(ops(1000), 1000 * ops(1)) << isa_name(isa);
    }
    EXPECT_GT(loop(isa, ArithmeticUnit::kF32Fma)(1), 0);
    EXPECT_GT(loop(isa, ArithmeticUnit::kInt8Dot)(1), 0);
    EXPECT_GT(loop(isa, ArithmeticUnit::kInt16Dot)(1), 0);
    EXPECT_EQ(loop(isa, ArithmeticUnit::kBf16Dot)(1) > 0, multiplies_bf16(isa));
  }
}

TEST(LimitsTest, AUnitThatALevelLacksIsFma) {
  for (Isa isa : test_levels()) {
    ArithmeticUnitSet units = units_of(kernels_for(isa).limits);
    EXPECT_EQ(arithmetic_unit_for(ActFormat::kF32, units), ArithmeticUnit::kF32Fma);
    EXPECT_EQ(arithmetic_unit_for(ActFormat::kQ8, units), ArithmeticUnit::kInt8Dot);
    EXPECT_EQ(arithmetic_unit_for(ActFormat::kBF16, units),
              multiplies_bf16(isa) ? ArithmeticUnit::kBf16Dot : ArithmeticUnit::kF32Fma);
    EXPECT_EQ(arithmetic_unit_for(KvType::kF16, units), ArithmeticUnit::kF32Fma);
    EXPECT_EQ(arithmetic_unit_for(KvType::kQ8_0, units), ArithmeticUnit::kInt16Dot);
    units[static_cast<size_t>(ArithmeticUnit::kInt16Dot)] = false;
    EXPECT_EQ(arithmetic_unit_for(KvType::kQ8_0, units), ArithmeticUnit::kF32Fma);
  }
}

TEST(LimitsTest, ReadsEveryByte) {
  std::mt19937 random(1);
  for (size_t bytes : {size_t{0}, kReadGranule, 2 * kReadGranule, 37 * kReadGranule}) {
    // The bytes are not aligned, and nothing behind the last one may be read.
    std::vector<std::byte> memory(bytes + 1);
    for (std::byte& b : memory) b = static_cast<std::byte>(random());
    uint64_t truth = 0;
    for (size_t i = 0; i < bytes; i += 8) {
      uint64_t word;
      std::memcpy(&word, memory.data() + 1 + i, 8);
      truth ^= word;
    }
    for (Isa isa : test_levels()) {
      EXPECT_EQ(kernels_for(isa).limits.read(memory.data() + 1, bytes), truth)
          << isa_name(isa) << " " << bytes;
    }
  }
}

}  // namespace
}  // namespace hearth
