// Tests what decoding gives besides values, since packs are made of it: the stored scales, and
// codes that are entries of the type's table.
#include "tensor/code_block.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "tensor/test_block.h"

namespace hearth {
namespace {

constexpr size_t kBlocks = 64;

// Calls check(info, decoded) for random blocks of all types for which wanted(info) holds.
template <typename Wanted, typename Check>
void for_decoded(Wanted wanted, Check check) {
  for (DType dtype : all_dtypes()) {
    const DTypeInfo& info = dtype_info(dtype);
    if (info.decode == nullptr || !wanted(dtype)) continue;
    const auto blocks = random_blocks(dtype, kBlocks * info.block_bytes, 7);
    for (size_t at = 0; at < blocks.size(); at += info.block_bytes) {
      for (uint32_t part = 0; part < info.block_elements / kBlock; ++part) {
        CodeBlock b;
        info.decode(&blocks[at], part, b);
        check(info, b);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

template <size_t N>
auto one_of(const DType (&types)[N]) {
  return [&types](DType dtype) {
    return std::find(std::begin(types), std::end(types), dtype) != std::end(types);
  };
}

TEST(CodeBlock, CodesAreOfTheTable) {
  auto has_table = [](DType dtype) { return dtype_info(dtype).form.table != nullptr; };
  for_decoded(has_table, [](const DTypeInfo& info, const CodeBlock& b) {
    const auto& values = info.form.table->values;
    for (uint8_t code : b.codes) {
      EXPECT_NE(std::find(values.begin(), values.end(), code - kCodeZero), values.end())
          << info.name << " " << code - kCodeZero;
    }
  });
}

TEST(CodeBlock, ScalesOfBlocksAreStored) {
  static constexpr DType kTypes[] = {DType::kQ4_1,  DType::kQ5_0,  DType::kQ5_1, DType::kIQ4_NL,
                                     DType::kTQ1_0, DType::kTQ2_0, DType::kQ1_0, DType::kQ2_0};
  for_decoded(one_of(kTypes), [](const DTypeInfo& info, const CodeBlock& b) {
    const bool minima = info.name == "q4_1" || info.name == "q5_1";
    for (size_t h = 0; h < 2; ++h) {
      EXPECT_EQ(b.scale[h], f16_to_f32(b.stored.d)) << info.name;
      EXPECT_EQ(b.min[h], minima ? f16_to_f32(b.stored.dmin) : 0) << info.name;
    }
  });
}

TEST(CodeBlock, ScalesOfHalvesAreStored) {
  static constexpr DType kTypes[] = {DType::kQ3_K,   DType::kIQ2_XXS, DType::kIQ2_XS,
                                     DType::kIQ2_S,  DType::kIQ3_XXS, DType::kIQ3_S,
                                     DType::kIQ4_XS, DType::kIQ1_M};
  for_decoded(one_of(kTypes), [](const DTypeInfo& info, const CodeBlock& b) {
    for (size_t h = 0; h < 2; ++h) {
      EXPECT_EQ(b.scale[h], f16_to_f32(b.stored.d) * b.stored.scale[h] * info.form.table->factor)
          << info.name;
      EXPECT_EQ(b.min[h], 0) << info.name;
    }
  });
}

TEST(CodeBlock, MinimaOfHalvesAreStored) {
  static constexpr DType kTypes[] = {DType::kQ2_K};
  for_decoded(one_of(kTypes), [](const DTypeInfo& info, const CodeBlock& b) {
    for (size_t h = 0; h < 2; ++h) {
      EXPECT_EQ(b.scale[h], f16_to_f32(b.stored.d) * b.stored.scale[h]) << info.name;
      EXPECT_EQ(b.min[h], -(f16_to_f32(b.stored.dmin) * b.stored.min[h])) << info.name;
    }
  });
}

TEST(CodeBlock, SignOfDeltaIsStoredWithTheScale) {
  static constexpr DType kTypes[] = {DType::kIQ1_S};
  for_decoded(one_of(kTypes), [](const DTypeInfo& info, const CodeBlock& b) {
    for (size_t h = 0; h < 2; ++h) {
      const float d = f16_to_f32(b.stored.d);
      EXPECT_EQ(b.scale[h], d * static_cast<float>(std::abs(b.stored.scale[h]))) << info.name;
      EXPECT_EQ(b.min[h], d * b.stored.scale[h] * 0.125f) << info.name;
    }
  });
}

TEST(CodeBlock, BytesOfScalesAreStored) {
  static constexpr DType kTypes[] = {DType::kMXFP4, DType::kNVFP4};
  for_decoded(one_of(kTypes), [](const DTypeInfo& info, const CodeBlock& b) {
    for (size_t h = 0; h < 2; ++h) {
      const auto byte = static_cast<uint8_t>(b.stored.scale[h]);
      const float value = info.name == "nvfp4" ? e4m3_to_f32(byte) : std::ldexp(1.0f, byte - 127);
      EXPECT_EQ(b.scale[h], value * info.form.table->factor) << info.name;
    }
  });
}

}  // namespace
}  // namespace hearth
