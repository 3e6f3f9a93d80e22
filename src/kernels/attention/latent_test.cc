#include "kernels/attention/latent.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "base/fp_types.h"
#include "kernels/attention/test_attention_problem.h"
#include "kernels/attention/test_attention_truth.h"
#include "kernels/test_levels.h"

namespace hearth {
namespace {

std::vector<KvType> types() { return {KvType::kF32, KvType::kF16, KvType::kBF16, KvType::kQ8_0}; }

KvStoreFn store_of(Isa isa, KvType type) {
  return kernels_for(isa).store_latent[static_cast<size_t>(type)];
}
AttendFn latent_attend_of(Isa isa, KvType type) {
  return kernels_for(isa).attend_latent[static_cast<size_t>(type)];
}

std::vector<Isa> latent_levels(KvType type) {
  return levels_with_own([&](Isa isa) { return latent_attend_of(isa, type); });
}

// Returns pages of latents. Slots that were never stored are NaN as f32, f16 and bf16.
KvHead latents(Isa isa, KvType type, uint32_t length, uint32_t positions, uint32_t seed) {
  KvHead head(type, {length, 0}, positions);
  head.fill(store_of(isa, type), seed);
  return head;
}

template <typename T>
T read(const std::byte* at) {
  T x;
  std::memcpy(&x, at, sizeof x);
  return x;
}

// Returns the element from the place that latent.h names.
float element(const KvHead& head, uint32_t position, uint32_t d) {
  const std::byte* page = head.pages()[position / kPagePositions].k;
  const size_t slot = position % kPagePositions, length = head.key_length();
  const size_t at = slot * padded_length(head.key_length()) + d;
  switch (head.type()) {
    case KvType::kF32:
      return read<float>(page + 4 * at);
    case KvType::kF16:
      return f16_to_f32(read<f16_t>(page + 2 * at));
    case KvType::kBF16:
      return bf16_to_f32(read<bf16_t>(page + 2 * at));
    case KvType::kQ8_0:
      break;
  }
  const size_t scale = slot * kv_blocks(head.key_length()) + d / kKvBlock;
  return static_cast<float>(read<int8_t>(page + at)) *
         f16_to_f32(
             read<f16_t>(page + kv_scales_offset(static_cast<uint32_t>(length)) + 2 * scale));
}

// Returns keys and values of f32 with the elements of the latents.
KvHead as_keys_and_values(const KvHead& head, uint32_t value_length) {
  KvHead apart(KvType::kF32, {head.key_length(), value_length}, head.positions());
  KvStoreFn store = kernels_for(Isa::kReference).kv_store[static_cast<size_t>(KvType::kF32)];
  for (uint32_t i = 0; i < head.positions(); ++i) {
    std::vector<float> x;
    for (uint32_t d = 0; d < head.key_length(); ++d) x.push_back(element(head, i, d));
    apart.put(store, i, x, x);
  }
  return apart;
}

std::vector<float> run(Isa isa, const KvHead& head, const Queries& queries,
                       const std::vector<uint32_t>& cuts) {
  return queries.run_spans(latent_attend_of(isa, head.type()), kernels_for(isa).merge_spans,
                           head.pages(), cuts, kLatentScratchBytes);
}

class LatentSizes : public testing::TestWithParam<HeadLengths> {};

// Compares with attention over f32 keys and values, which has its own tests, at all levels and for
// several cuts of spans.
TEST_P(LatentSizes, AreKeysAndValuesAtOnce) {
  const HeadLengths lengths = GetParam();
  constexpr uint32_t kPositions = 1100;
  for (KvType type : types()) {
    SCOPED_TRACE(kv_type_name(type));
    KvHead head = latents(Isa::kReference, type, lengths.key, kPositions, lengths.key);
    KvHead apart = as_keys_and_values(head, lengths.value);
    Queries queries(11, lengths, lengths.key);
    queries.last = {0, 1, 15, 63, 64, 511, 512, 700, 1023, 1024, kPositions - 1};
    const std::vector<float> truth =
        queries.run(attend_of(Isa::kReference, KvType::kF32), apart.pages());
    EXPECT_TRUE(same_bits(run(Isa::kReference, head, queries, {3}), truth));
    for (Isa isa : latent_levels(type)) {
      SCOPED_TRACE(isa_name(isa));
      for (const std::vector<uint32_t>& cuts : {std::vector<uint32_t>{3}, {1, 2, 3}, {2, 3}}) {
        EXPECT_TRUE(same_bits(run(isa, head, queries, cuts), truth));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Lengths, LatentSizes,
                         testing::Values(HeadLengths(576, 512), HeadLengths(24, 16),
                                         HeadLengths(40, 24), HeadLengths(33, 1),
                                         HeadLengths(144, 80), HeadLengths(70, 70),
                                         HeadLengths(kMaxLatentKey, kMaxLatentValue)));

// Calls have between one row and the most rows that a call may have. Rows are heads of one token,
// or of tokens that follow each other and see a part of a page.
TEST(LatentTest, ARowDoesNotDependOnItsCompany) {
  const HeadLengths lengths(80, 64);
  for (KvType type : types()) {
    KvHead head = latents(Isa::kReference, type, lengths.key, 300, 7);
    head.pages().push_back(head.pages()[0]);
    Queries all(kMaxLatentRows, lengths, 8);
    for (uint32_t i = 0; i < all.rows; ++i) all.last[i] = 240 + i / 5;
    for (Isa isa : latent_levels(type)) {
      const std::vector<float> together = run(isa, head, all, {1});
      for (uint32_t rows : {1u, 2u, 5u, 7u, 16u, 65u}) {
        Queries some = all;
        some.rows = rows;
        some.after = head.pages()[0];
        const std::vector<float> out = run(isa, head, some, {1});
        EXPECT_TRUE(std::equal(out.begin(), out.begin() + (rows - 1) * (64 + Queries::kGap) + 64,
                               together.begin()))
            << isa_name(isa) << " " << kv_type_name(type) << " " << rows;
      }
    }
  }
}

// A latent that is not finite changes the results of the rows that see it, and of no other row,
// even of the same tile.
TEST(LatentTest, NonFiniteLatentsShowOnlyInRowsThatSeeThem) {
  const HeadLengths lengths(48, 32);
  for (KvType type : types()) {
    KvHead head = latents(Isa::kReference, type, lengths.key, 128, 9);
    KvHead clean = latents(Isa::kReference, type, lengths.key, 128, 9);
    head.put(store_of(Isa::kReference, type), 100,
             std::vector<float>(48, std::numeric_limits<float>::infinity()), {});
    Queries queries(6, lengths, 10);
    queries.last = {99, 100, 80, 127, 99, 64};
    for (Isa isa : latent_levels(type)) {
      SCOPED_TRACE(std::string(isa_name(isa)) + " " + kv_type_name(type));
      const std::vector<float> out = run(isa, head, queries, {1});
      const std::vector<float> without = run(isa, clean, queries, {1});
      for (uint32_t i = 0; i < queries.rows; ++i) {
        for (uint32_t d = 0; d < lengths.value; ++d) {
          const float x = out[queries.out_offset[i] + d];
          if (queries.last[i] >= 100) {
            ASSERT_FALSE(std::isfinite(x)) << i << " " << d;
          } else {
            ASSERT_EQ(x, without[queries.out_offset[i] + d]) << i << " " << d;
          }
        }
      }
    }
  }
}

TEST(LatentTest, AllLevelsStoreTheSameBytes) {
  for (KvType type : types()) {
    for (uint32_t length : {1u, 16u, 33u, 40u, 80u, 576u, kMaxLatentKey}) {
      KvHead reference = latents(Isa::kReference, type, length, 64, length);
      for (Isa isa : levels_with_own([&](Isa each) { return store_of(each, type); })) {
        KvHead head = latents(isa, type, length, 64, length);
        EXPECT_EQ(0, std::memcmp(head.pages()[0].k, reference.pages()[0].k, head.bytes()))
            << isa_name(isa) << " " << kv_type_name(type) << " " << length;
      }
    }
  }
}

// The bound is half a step of the type: f16 has 11 bits and bf16 8. Codes have steps of 1 / 127 of
// their block's largest, whose scale is rounded to 11 bits besides.
TEST(LatentTest, ReadsBackWhatIsStored) {
  constexpr uint32_t kLength = 72;
  std::mt19937 random(11);
  std::vector<float> x(kLength);
  for (float& f : x) f = static_cast<float>(random() >> 8) * 0x1p-24f - 0.5f;
  for (KvType type : types()) {
    KvHead head(type, {kLength, 0}, 64);
    for (uint32_t slot : {0u, 17u, 63u}) {
      head.put(store_of(Isa::kReference, type), slot, x, {});
      for (uint32_t d = 0; d < kLength; ++d) {
        const double bound = type == KvType::kF32    ? 0
                             : type == KvType::kF16  ? std::fabs(x[d]) * 0x1p-11 + 0x1p-25
                             : type == KvType::kBF16 ? std::fabs(x[d]) * 0x1p-8
                                                     : 0.5 / 127 * (0.5 + 0x1p-10) + 0.5 * 0x1p-11;
        EXPECT_LE(std::fabs(element(head, slot, d) - x[d]), bound) << kv_type_name(type);
      }
    }
  }
}

}  // namespace
}  // namespace hearth
