#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "kernels/attention/test_attention_problem.h"
#include "kernels/kernels.h"
#include "kernels/test_levels.h"

namespace hearth {
namespace {

KvStoreFn store_of(Isa isa, KvType type) {
  return kernels_for(isa).kv_store[static_cast<size_t>(type)];
}

std::vector<KvType> types() { return {KvType::kF32, KvType::kF16, KvType::kBF16, KvType::kQ8_0}; }

bool same_bytes(const KvHead& a, const KvHead& b) {
  return std::memcmp(a.pages()[0].k, b.pages()[0].k, a.bytes()) == 0;
}

// Returns elements of very different sizes: 2^e sin(i), e from -20 to 12.
std::vector<float> wide_floats(uint32_t n, uint32_t seed) {
  std::vector<float> x(n);
  for (uint32_t i = 0; i < n; ++i) {
    int exponent = static_cast<int>((i * 5 + seed * 3) % 33) - 20;
    x[i] = std::ldexp(static_cast<float>(std::sin(1.0 + i + 7.0 * seed)), exponent);
  }
  return x;
}

// Lengths of keys and values. Either keys or values may be longer.
const HeadLengths kLengths[] = {1,        8,        15,       16,      20,      24,  32,
                                40,       64,       72,       80,      128,     256, {192, 128},
                                {24, 16}, {16, 24}, {80, 96}, {1, 40}, {72, 15}};

// Returns the largest magnitude in the block of element d.
double block_max(const std::vector<float>& x, uint32_t d) {
  double most = 0;
  const size_t begin = d / kKvBlock * kKvBlock;
  for (size_t i = begin; i < std::min<size_t>(x.size(), begin + kKvBlock); ++i) {
    most = std::max(most, std::fabs(static_cast<double>(x[i])));
  }
  return most;
}

// Returns the largest distance that a stored x may have from x; `amax` is the largest magnitude of
// its block.
double bound(KvType type, double x, double amax) {
  switch (type) {
    case KvType::kF32:
      return 0;
    case KvType::kF16:
      return std::fabs(x) * 0x1p-11 + 0x1p-25;
    case KvType::kBF16:
      return std::fabs(x) * 0x1p-8;
    case KvType::kQ8_0: {
      // The bound is half a step, and the loss by clamping if the scale was rounded down to an f16.
      double scale_error = amax / 127 * 0x1p-11 + 0x1p-25;
      return (amax / 127 + scale_error) * 0.5 + 127 * scale_error;
    }
  }
  return 0;
}

TEST(KvStoreTest, HalvesAreWholeLines) {
  EXPECT_EQ(kv_half_bytes(KvType::kF32, 128), 64u * 128 * 4);
  EXPECT_EQ(kv_half_bytes(KvType::kF16, 128), 64u * 128 * 2);
  EXPECT_EQ(kv_half_bytes(KvType::kBF16, 20), 64u * 32 * 2);
  EXPECT_EQ(kv_half_bytes(KvType::kQ8_0, 128), 64u * (128 + 4 * 2));
  EXPECT_EQ(kv_half_bytes(KvType::kQ8_0, 80), 64u * (80 + 3 * 2));
  for (KvType type : types()) {
    for (uint32_t d = 1; d <= kMaxHeadDim; ++d) EXPECT_EQ(kv_half_bytes(type, d) % 64, 0u);
  }
  EXPECT_STREQ(kv_type_name(KvType::kQ8_0), "q8_0");
}

TEST(KvStoreTest, ReadsBackWhatIsStored) {
  for (KvType type : types()) {
    for (HeadLengths lengths : kLengths) {
      KvHead head(type, lengths, 130);
      for (uint32_t position = 0; position < 130; ++position) {
        head.put(store_of(Isa::kReference, type), position, wide_floats(lengths.key, position),
                 wide_floats(lengths.value, position + 1000));
      }
      for (uint32_t position = 0; position < 130; ++position) {
        std::vector<float> k = wide_floats(lengths.key, position);
        std::vector<float> v = wide_floats(lengths.value, position + 1000);
        for (uint32_t d = 0; d < lengths.key; ++d) {
          ASSERT_LE(std::fabs(head.key(position, d) - k[d]), bound(type, k[d], block_max(k, d)));
        }
        for (uint32_t d = 0; d < lengths.value; ++d) {
          ASSERT_LE(std::fabs(head.value(position, d) - v[d]), bound(type, v[d], block_max(v, d)));
        }
      }
    }
  }
}

TEST(KvStoreTest, AllLevelsWriteTheSameBytesAndOnlyTheirSlot) {
  for (Isa isa : test_levels()) {
    for (KvType type : types()) {
      for (HeadLengths lengths : kLengths) {
        KvHead expected(type, lengths, 64), got(type, lengths, 64);
        for (uint32_t slot : {0u, 1u, 37u, 63u}) {
          std::vector<float> k = wide_floats(lengths.key, slot);
          std::vector<float> v = wide_floats(lengths.value, slot + 64);
          expected.put(store_of(Isa::kReference, type), slot, k, v);
          got.put(store_of(isa, type), slot, k, v);
          ASSERT_TRUE(same_bytes(got, expected)) << isa_name(isa) << " " << kv_type_name(type)
                                                 << " " << lengths.key << " slot " << slot;
        }
      }
    }
  }
}

// The bytes of a position must lie where the layout says, its padding must be zero, and other slots
// must keep their bytes.
TEST(KvStoreTest, PaddingIsZeroAndOtherSlotsAreKept) {
  for (Isa isa : test_levels()) {
    KvHead head(KvType::kF16, 20, 64);
    head.put(store_of(isa, KvType::kF16), 5, std::vector<float>(20, 1.0f),
             std::vector<float>(20, 2.0f));
    const auto* k = reinterpret_cast<const uint16_t*>(head.pages()[0].k);
    const auto* v = reinterpret_cast<const uint16_t*>(head.pages()[0].v);
    for (uint32_t d = 0; d < 32; ++d) {
      for (uint32_t slot = 0; slot < 64; ++slot) {
        uint16_t one = d < 20 ? 0x3c00 : 0, two = d < 20 ? 0x4000 : 0;
        ASSERT_EQ(k[d * 64 + slot], slot == 5 ? one : 0xffff);
        ASSERT_EQ(v[slot * 32 + d], slot == 5 ? two : 0xffff);
      }
    }
  }
}

TEST(KvStoreTest, CodesLieInPairs) {
  for (Isa isa : test_levels()) {
    KvHead head(KvType::kQ8_0, 40, 64);
    std::vector<float> x(40, 0.0f);
    for (uint32_t d = 0; d < 40; ++d) x[d] = d % 32 == 0 ? 127.0f : static_cast<float>(d);
    head.put(store_of(isa, KvType::kQ8_0), 5, x, x);
    const auto* k = reinterpret_cast<const int8_t*>(head.pages()[0].k);
    const auto* v = reinterpret_cast<const int8_t*>(head.pages()[0].v);
    for (uint32_t d = 0; d < 48; ++d) {
      int code = d < 40 ? static_cast<int>(x[d]) : 0;
      EXPECT_EQ(k[d / 2 * 128 + 5 * 2 + d % 2], code);
      EXPECT_EQ(v[2 * 96 + d * 2 + 1], code);
    }
    for (const std::byte* half : {head.pages()[0].k, head.pages()[0].v}) {
      const auto* scales = reinterpret_cast<const uint16_t*>(half + 64 * 48);
      EXPECT_EQ(scales[5], 0x3c00);
      EXPECT_EQ(scales[64 + 5], 0x3c00);
    }
  }
}

TEST(KvStoreTest, BlocksWithoutAScaleAndWithATinyOne) {
  for (Isa isa : test_levels()) {
    KvStoreFn store = store_of(isa, KvType::kQ8_0);
    KvHead head(KvType::kQ8_0, 64, 64);
    std::vector<float> x(64, 0.0f);
    x[1] = 1e-9f;   // its block's scale rounds to 0
    x[40] = 9e-6f;  // scale 7.1e-8 rounds down to the least f16, 6.0e-8: 127 steps don't reach
    head.put(store, 3, x, x);
    EXPECT_EQ(head.key(3, 0), 0);
    EXPECT_EQ(head.key(3, 1), 0);
    EXPECT_EQ(head.key(3, 40), 127 * 0x1p-24);
    EXPECT_EQ(head.value(3, 40), 127 * 0x1p-24);
    EXPECT_EQ(head.value(3, 41), 0);
  }
}

// A key or a value that is not finite is stored as not finite, since otherwise wrong results would
// look right.
TEST(KvStoreTest, NonFiniteElementsStayNonFinite) {
  for (Isa isa : test_levels()) {
    for (KvType type : types()) {
      for (float wrong : {NAN, -NAN, INFINITY, -INFINITY}) {
        for (uint32_t at : {0u, 7u, 15u, 16u, 31u, 39u}) {
          std::vector<float> x = wide_floats(40, 1);
          x[at] = wrong;
          KvHead head(type, 40, 64);
          head.put(store_of(isa, type), 3, x, x);
          // The whole block of q8_0 becomes not finite, since it has one scale.
          EXPECT_FALSE(std::isfinite(head.key(3, at)))
              << isa_name(isa) << " " << kv_type_name(type);
          EXPECT_FALSE(std::isfinite(head.value(3, at)));
        }
      }
    }
  }
}

// Ties go to even, both in levels' divisions and in their conversions.
TEST(KvStoreTest, CodesRoundHalfToEven) {
  for (Isa isa : test_levels()) {
    KvHead head(KvType::kQ8_0, 32, 64);
    std::vector<float> x(32, 0.0f);
    x[0] = -127;  // scale 1
    x[1] = 0.5f;
    x[2] = 1.5f;
    x[3] = -2.5f;
    x[4] = 2.4999f;
    head.put(store_of(isa, KvType::kQ8_0), 0, x, x);
    const double expected[] = {-127, 0, 2, -2, 2, 0};
    for (uint32_t d = 0; d < 6; ++d) {
      EXPECT_EQ(head.key(0, d), expected[d]);
      EXPECT_EQ(head.value(0, d), expected[d]);
    }
  }
}

}  // namespace
}  // namespace hearth
