#include "kernels/quantize/quantize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/test_levels.h"

namespace hearth {
namespace {

constexpr uint32_t kBlock = 32;
constexpr float kInf = std::numeric_limits<float>::infinity();

const std::array<QuantizeFn, kActFormats>& functions_of(Isa isa) {
  return kernels_for(isa).quantize;
}

// Holds activations in memory that is poisoned before use.
class Activations {
 public:
  Activations(ActFormat format, size_t m, size_t k)
      : bytes_(act_bytes(format, m, k)),
        memory_(static_cast<std::byte*>(std::aligned_alloc(64, bytes_)), &std::free) {
    std::memset(memory_.get(), 0x5a, bytes_);
    buffer = act_buffer(format, memory_.get(), m, k);
  }
  bool operator==(const Activations& other) const {
    return std::memcmp(memory_.get(), other.memory_.get(), bytes_) == 0;
  }
  ActBuffer buffer;

 private:
  size_t bytes_;
  std::unique_ptr<std::byte, decltype(&std::free)> memory_;
};

// Makes a row of blocks. All elements of a block are of one kind, and the kinds take turns.
std::vector<float> inputs(uint32_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> x(count);
  for (uint32_t i = 0; i < count; ++i) {
    switch ((i / kBlock + seed) % 9) {
      case 0:  // zeros of both signs
        x[i] = i % 2 == 0 ? 0.0f : -0.0f;
        break;
      case 1:  // subnormal
        x[i] = static_cast<float>(static_cast<int32_t>(random() % 201) - 100) * FLT_TRUE_MIN;
        break;
      case 2:
        x[i] = (i % 2 == 0 ? 1.0f : -1.0f) * (i % 3 == 0 ? FLT_MAX : FLT_MAX / 3);
        break;
      case 3:  // ties: amax 127, halves
        x[i] = i % kBlock == 0 ? 127.0f : static_cast<float>(random() % 200) - 99.5f;
        break;
      case 4:  // on both sides of kQ8MinAmax
        x[i] = kQ8MinAmax * (seed % 2 == 0 ? 1.0f : 0.999999f) * (i % 5 == 0 ? 1.0f : 0.25f);
        break;
      case 5:  // any bits: NaN and infinity too
        x[i] = std::bit_cast<float>(static_cast<uint32_t>(random()));
        break;
      case 6:
        x[i] = i % kBlock == seed % kBlock ? kInf : 1.0f;
        break;
      default:
        x[i] = normal(random) * std::ldexp(1.0f, static_cast<int>(i / kBlock % 40) - 20);
    }
  }
  return x;
}

// Makes a row without special blocks. If four blocks have a special one among them, they may be
// made one by one.
std::vector<float> plain_inputs(uint32_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> x(count);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t kind = (i / kBlock + seed) % 5;
    if (kind == 0) {
      x[i] = i % 2 == 0 ? FLT_MAX : -FLT_MAX / 3;
    } else if (kind == 1) {  // ties: amax 127, halves
      x[i] = i % kBlock == 0 ? -127.0f : static_cast<float>(random() % 200) - 99.5f;
    } else {
      x[i] = normal(random) * std::ldexp(1.0f, static_cast<int>(random() % 40) - 20);
    }
  }
  return x;
}

class QuantizeTest : public testing::TestWithParam<Isa> {};

TEST_P(QuantizeTest, SameBitsAsTheReference) {
  const auto& functions = functions_of(GetParam());
  const auto& reference = functions_of(Isa::kReference);
  for (uint32_t seed = 0; seed < 120; ++seed) {
    for (uint32_t count : {1u, 31u, 32u, 33u, 63u, 320u, 1000u}) {
      std::vector<float> x = seed % 2 == 0 ? inputs(count, seed / 2) : plain_inputs(count, seed);
      for (size_t format = 0; format < kActFormats; ++format) {
        Activations got(static_cast<ActFormat>(format), 1, count);
        Activations want(static_cast<ActFormat>(format), 1, count);
        functions[format]({x.data(), 0, count, got.buffer, 0});
        reference[format]({x.data(), 0, count, want.buffer, 0});
        EXPECT_TRUE(got == want) << "format " << format << " count " << count << " seed " << seed;
      }
    }
  }
}

TEST_P(QuantizeTest, PartsOfARowMakeTheRow) {
  constexpr uint32_t kCount = 333;
  const auto& functions = functions_of(GetParam());
  for (size_t n = 0; n < 2 * kActFormats; ++n) {
    const size_t format = n / 2;
    std::vector<float> x = n % 2 == 0 ? inputs(kCount, 3) : plain_inputs(kCount, 3);
    Activations whole(static_cast<ActFormat>(format), 3, kCount);
    Activations parts(static_cast<ActFormat>(format), 3, kCount);
    functions[format]({x.data(), 0, kCount, whole.buffer, 1});
    for (uint32_t first : {160u, 0u, 96u, 128u}) {
      uint32_t end = first == 0 ? 96 : first == 96 ? 128 : first == 128 ? 160 : kCount;
      functions[format]({x.data() + first, first, end - first, parts.buffer, 1});
    }
    EXPECT_TRUE(parts == whole) << "format " << format;  // rows 0 and 2 stay poisoned
  }
}

TEST_P(QuantizeTest, KnownBlock) {
  const auto& functions = functions_of(GetParam());
  // The scale is 2, so codes are halves of the values. Ties go to even.
  std::vector<float> x = {254.0f, 1.0f, 3.0f, 5.0f, -1.0f, -3.0f, -254.0f, -0.0f, 100.0f};
  Activations a(ActFormat::kQ8, 1, 40);
  functions[static_cast<size_t>(ActFormat::kQ8)]({x.data(), 0, 9, a.buffer, 0});
  const int8_t codes[kBlock] = {127, 0, 2, 2, 0, -2, -127, 0, 50};
  EXPECT_EQ(std::memcmp(a.buffer.codes, codes, kBlock), 0);
  EXPECT_EQ(a.buffer.scale[0], 2.0f);
  EXPECT_EQ(a.buffer.bias32[0], -128 * 52);
  EXPECT_EQ(a.buffer.bias16[0], -128 * 52);
  EXPECT_EQ(a.buffer.bias16[1], 0);
  EXPECT_EQ(a.buffer.sum32[0], 104.0f);
  EXPECT_EQ(a.buffer.sum16[0], 104.0f);
  EXPECT_EQ(a.buffer.sum16[1], 0.0f);
  EXPECT_EQ(a.buffer.codes[32], 0x5a);  // nothing beyond the block
}

TEST_P(QuantizeTest, TheErrorIsHalfAStep) {
  const auto& functions = functions_of(GetParam());
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  std::vector<float> x(4096);
  for (float& value : x) value = normal(random);
  Activations a(ActFormat::kQ8, 1, x.size());
  functions[static_cast<size_t>(ActFormat::kQ8)](
      {x.data(), 0, static_cast<uint32_t>(x.size()), a.buffer, 0});
  for (size_t i = 0; i < x.size(); ++i) {
    double scale = a.buffer.scale[i / kBlock];
    // The error also has four roundings of relative size 2^-24, of values up to 127 times the
    // scale.
    EXPECT_LE(std::abs(x[i] - scale * a.buffer.codes[i]), scale * (0.5 + 127 * 4 * 0x1p-24));
  }
}

TEST_P(QuantizeTest, NonFiniteBlocksShowAndTinyOnesAreZero) {
  const auto& functions = functions_of(GetParam());
  for (float bad : {kInf, -kInf, std::numeric_limits<float>::quiet_NaN()}) {
    std::vector<float> x(64, 1.0f);
    x[40] = bad;
    Activations a(ActFormat::kQ8, 1, 64);
    functions[static_cast<size_t>(ActFormat::kQ8)]({x.data(), 0, 64, a.buffer, 0});
    EXPECT_EQ(a.buffer.codes[0], 127);
    EXPECT_EQ(a.buffer.codes[32], 0);
    EXPECT_TRUE(std::isnan(a.buffer.scale[1]) && std::isnan(a.buffer.sum32[1]));
    EXPECT_TRUE(std::isnan(a.buffer.sum16[2]) && std::isnan(a.buffer.sum16[3]));
    EXPECT_EQ(a.buffer.bias32[1], 0);
  }
  std::vector<float> tiny(32, std::nextafter(kQ8MinAmax, 0.0f));
  Activations a(ActFormat::kQ8, 1, 32);
  functions[static_cast<size_t>(ActFormat::kQ8)]({tiny.data(), 0, 32, a.buffer, 0});
  EXPECT_EQ(a.buffer.scale[0], 0.0f);
  EXPECT_EQ(a.buffer.codes[0], 0);
}

INSTANTIATE_TEST_SUITE_P(Isas, QuantizeTest, testing::ValuesIn(test_levels()),
                         [](const auto& test) { return std::string(isa_name(test.param)); });

TEST(Activations, BuffersAreAlignedAndDoNotOverlap) {
  for (ActFormat format : {ActFormat::kF32, ActFormat::kBF16, ActFormat::kQ8}) {
    EXPECT_EQ(act_bytes(format, 3, 33) % 64, 0u);
    EXPECT_EQ(act_bytes(format, 0, 33), 0u);
  }
  EXPECT_EQ(act_bytes(ActFormat::kF32, 3, 33), 3u * 64 * 4);
  Activations a(ActFormat::kQ8, 3, 33);
  const ActBuffer& b = a.buffer;
  EXPECT_EQ(b.row_stride, 64u);
  const std::byte* starts[] = {
      reinterpret_cast<std::byte*>(b.codes),  reinterpret_cast<std::byte*>(b.scale),
      reinterpret_cast<std::byte*>(b.bias32), reinterpret_cast<std::byte*>(b.sum32),
      reinterpret_cast<std::byte*>(b.bias16), reinterpret_cast<std::byte*>(b.sum16)};
  const ptrdiff_t sizes[] = {3 * 64, 3 * 2 * 4, 3 * 2 * 4, 3 * 2 * 4, 3 * 4 * 4, 3 * 4 * 4};
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(starts[i]) % 64, 0u);
    const std::byte* end = i < 5 ? starts[i + 1] : starts[0] + act_bytes(ActFormat::kQ8, 3, 33);
    EXPECT_GE(end - starts[i], sizes[i]);
  }
}

TEST(Activations, RowsOfATileAreSpreadOverTheSetsOfACache) {
  for (size_t k : {size_t{512}, size_t{1024}, size_t{2048}, size_t{2560}, size_t{4096}}) {
    EXPECT_NE(act_buffer(ActFormat::kF32, nullptr, 1, k).row_stride * sizeof(float) % 2048, 0u);
    EXPECT_NE(act_buffer(ActFormat::kBF16, nullptr, 1, k).row_stride * sizeof(bf16_t) % 2048, 0u);
    EXPECT_NE(act_buffer(ActFormat::kQ8, nullptr, 1, k).row_stride % 2048, 0u);
  }
}

TEST(Activations, RowsMoveEveryArray) {
  Activations a(ActFormat::kQ8, 4, 96);
  ActView view = act_view(a.buffer);
  ActView moved = act_rows(view, 2, 1);
  EXPECT_EQ(moved.f32, nullptr);
  EXPECT_EQ(moved.codes - view.codes, 2 * 96 + 32);
  EXPECT_EQ(moved.scale - view.scale, 7);
  EXPECT_EQ(moved.bias32 - view.bias32, 7);
  EXPECT_EQ(moved.sum16 - view.sum16, 14);
  ActView back = act_rows(moved, 0, -7);
  EXPECT_EQ(back.codes, view.codes);
  EXPECT_EQ(back.sum32, view.sum32);
  EXPECT_EQ(back.bias16, view.bias16);
}

TEST(Activations, ARowIsCopiedAsItStandsAndNoOther) {
  for (ActFormat format : {ActFormat::kF32, ActFormat::kBF16, ActFormat::kQ8}) {
    constexpr size_t kRows = 3, kLength = 70;
    Activations from(format, kRows, kLength), to(format, kRows, kLength);
    Activations expected(format, kRows, kLength);
    std::vector<float> x(kLength);
    for (size_t row = 0; row < kRows; ++row) {
      for (size_t i = 0; i < kLength; ++i) x[i] = static_cast<float>(i * (row + 1)) - 40;
      QuantizeFn quantize = functions_of(Isa::kReference)[static_cast<size_t>(format)];
      quantize({x.data(), 0, kLength, from.buffer, row});
      if (row == 1) quantize({x.data(), 0, kLength, expected.buffer, row});
    }
    copy_act_row(format, act_view(from.buffer), 1, to.buffer, 1);
    EXPECT_TRUE(to == expected);
  }
}

}  // namespace
}  // namespace hearth
