#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <utility>

#include "kernels/attention/latent.h"
#include "kernels/attention/test_attention_problem.h"
#include "kernels/attention/test_attention_truth.h"
#include "kernels/test_levels.h"

namespace hearth {
namespace {

constexpr KvType kTypes[] = {KvType::kF32, KvType::kF16, KvType::kBF16, KvType::kQ8_0};

// Returns the levels that have a kernel of their own for expanding latents of the type, or for
// attention to expanded pages.
std::vector<Isa> expanding_levels(KvType type) {
  return levels_with_own([&](Isa isa) {
    const Kernels& table = kernels_for(isa);
    return std::pair(table.expand_latent[static_cast<size_t>(type)], table.attend_expanded);
  });
}

struct Lengths {
  uint32_t latent, rope, nope, value;
  uint32_t key() const { return nope + rope; }
  uint32_t cached() const { return latent + rope; }
};

std::vector<float> normal_floats(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> all(count);
  for (float& x : all) x = normal(random);
  return all;
}

std::vector<CacheLine> lines(size_t floats) {
  return std::vector<CacheLine>((floats * sizeof(float) + 63) / 64);
}
float* floats(std::vector<CacheLine>& of) { return reinterpret_cast<float*>(of.data()); }

// The matrices of a head, both as rows and in the layout of expand_latent.
struct Matrices {
  explicit Matrices(const Lengths& n)
      : key(normal_floats(size_t{n.nope} * n.latent, 1)),
        value(normal_floats(size_t{n.value} * n.latent, 2)),
        key_tiles(lines(expand_key_floats(n.nope, n.latent))),
        value_columns(lines(expand_value_floats(n.value, n.latent))) {
    for (uint32_t i = 0; i < n.latent; ++i) {
      for (uint32_t d = 0; d < n.nope; ++d) {
        floats(key_tiles)[expand_key_at(n.nope, n.latent, d, i)] = key[size_t{d} * n.latent + i];
      }
      for (uint32_t e = 0; e < n.value; ++e) {
        floats(value_columns)[expand_value_at(n.latent, e, i)] = value[size_t{e} * n.latent + i];
      }
    }
  }

  std::vector<float> key, value;
  std::vector<CacheLine> key_tiles, value_columns;
};

// The latents of a sequence, and their pages expanded.
class Pages {
 public:
  Pages(KvType type, const Lengths& n, uint32_t positions)
      : n_(n), latents_(type, {n.cached(), 0}, positions) {
    latents_.fill(store(), n.latent);
  }

  void put(uint32_t position, const std::vector<float>& latent) {
    latents_.put(store(), position, latent, {});
  }

  void expand(Isa isa, Matrices& matrices) {
    const size_t page_floats = expanded_key_floats(n_.key()) + expanded_value_floats(n_.value);
    const auto count = static_cast<uint32_t>(latents_.pages().size());
    memory_ = lines(page_floats * count);
    pages_.clear();
    std::vector<CacheLine> scratch(kLatentScratchBytes / sizeof(CacheLine));
    for (uint32_t p = 0; p < count; ++p) {
      float* keys = floats(memory_) + page_floats * p;
      float* values = keys + expanded_key_floats(n_.key());
      kernels_for(isa).expand_latent[static_cast<size_t>(latents_.type())](
          {.page = latents_.pages()[p].k,
           .slots = std::min(kPagePositions, latents_.positions() - p * kPagePositions),
           .kv_lora_rank = n_.latent,
           .rope_length = n_.rope,
           .nope_length = n_.nope,
           .value_length = n_.value,
           .key = floats(matrices.key_tiles),
           .value = floats(matrices.value_columns),
           .keys = keys,
           .values = values,
           .scratch = scratch.data()->bytes,
           .next = p + 1 < count ? latents_.pages()[p + 1].k : nullptr});
      pages_.push_back({reinterpret_cast<std::byte*>(keys), reinterpret_cast<std::byte*>(values)});
    }
  }

  float key(uint32_t position, uint32_t d) const {
    const auto* keys = reinterpret_cast<const float*>(pages_[position / kPagePositions].k);
    return keys[size_t{d} * kPagePositions + position % kPagePositions];
  }
  float value(uint32_t position, uint32_t e) const {
    const auto* values = reinterpret_cast<const float*>(pages_[position / kPagePositions].v);
    return values[(size_t{e / 64} * kPagePositions + position % kPagePositions) * 64 + e % 64];
  }
  std::vector<float> keys_of(uint32_t position) const {
    std::vector<float> all;
    for (uint32_t d = 0; d < n_.key(); ++d) all.push_back(key(position, d));
    return all;
  }
  std::vector<float> values_of(uint32_t position) const {
    std::vector<float> all;
    for (uint32_t e = 0; e < n_.value; ++e) all.push_back(value(position, e));
    return all;
  }

  std::vector<float> attend(Isa isa, const Queries& queries) const {
    const size_t sums_floats = row_sums_floats(queries.rows, n_.value);
    std::vector<CacheLine> scratch(kLatentScratchBytes / sizeof(CacheLine));
    std::vector<CacheLine> sums = lines(sums_floats), merged = lines(sums_floats);
    std::vector<float> out(queries.rows * (n_.value + Queries::kGap), Queries::kPoison);
    constexpr uint32_t kSpan = kSpanPages * kPagePositions;
    const uint32_t spans = *std::max_element(queries.last.begin(), queries.last.end()) / kSpan + 1;
    for (uint32_t span = 0; span < spans; ++span) {
      kernels_for(isa).attend_expanded({.q = queries.q.data(),
                                        .q_offset = queries.offset.data(),
                                        .last = queries.last.data(),
                                        .rows = queries.rows,
                                        .window = 0,
                                        .pages = pages_.data() + size_t{span} * kSpanPages,
                                        .key_length = n_.key(),
                                        .value_length = n_.value,
                                        .scale = queries.scale,
                                        .out = nullptr,
                                        .out_offset = nullptr,
                                        .scratch = scratch.data()->bytes,
                                        .sums = floats(sums),
                                        .span0 = span,
                                        .span1 = span + 1});
      kernels_for(isa).merge_spans({.sums = floats(sums),
                                    .spans = 1,
                                    .rows = queries.rows,
                                    .value_length = n_.value,
                                    .merged = floats(merged),
                                    .first = span == 0,
                                    .out = span + 1 == spans ? out.data() : nullptr,
                                    .out_offset = queries.out_offset.data()});
    }
    return out;
  }

 private:
  KvStoreFn store() const {
    return kernels_for(Isa::kReference).store_latent[static_cast<size_t>(latents_.type())];
  }

  Lengths n_;
  KvHead latents_;
  std::vector<CacheLine> memory_;
  std::vector<KvPage> pages_;
};

class ExpandedSizes : public testing::TestWithParam<Lengths> {};

// Compares with sums in double over the elements of f32 pages. A chain of n fma rounds n times.
// Each error is at most 2^-24 of the partial sum, and a partial sum is at most the sum of the
// absolute products.
TEST_P(ExpandedSizes, AreProductsOfLatents) {
  const Lengths n = GetParam();
  Matrices matrices(n);
  Pages pages(KvType::kF32, n, 77);
  std::vector<std::vector<float>> x;
  for (uint32_t i = 0; i < 77; ++i) {
    x.push_back(normal_floats(n.cached(), 100 + i));
    pages.put(i, x.back());
  }
  pages.expand(test_levels().back(), matrices);
  auto expect = [&](float got, const std::vector<float>& matrix, uint32_t row, uint32_t position) {
    double sum = 0, size = 0;
    for (uint32_t i = 0; i < n.latent; ++i) {
      const double product = double{matrix[size_t{row} * n.latent + i]} * x[position][i];
      sum += product;
      size += std::fabs(product);
    }
    ASSERT_LE(std::fabs(got - sum), size * n.latent * 0x1p-24) << position << " " << row;
  };
  for (uint32_t position : {0u, 1u, 15u, 16u, 59u, 60u, 63u, 64u, 76u}) {
    for (uint32_t d = 0; d < n.nope; ++d) {
      expect(pages.key(position, d), matrices.key, d, position);
    }
    for (uint32_t d = 0; d < n.rope; ++d) {
      ASSERT_EQ(pages.key(position, n.nope + d), x[position][n.latent + d]);
    }
    for (uint32_t d = n.key(); d < padded_length(n.key()); ++d) {
      ASSERT_EQ(pages.key(position, d), 0.0f);
    }
    for (uint32_t e = 0; e < n.value; ++e) {
      expect(pages.value(position, e), matrices.value, e, position);
    }
  }
}

// All levels make the same keys and values. Attention to them gives the bits of attention to keys
// and values of f32.
TEST_P(ExpandedSizes, AreKeysAndValues) {
  const Lengths n = GetParam();
  constexpr uint32_t kPositions = 600;
  Matrices matrices(n);
  for (KvType type : kTypes) {
    SCOPED_TRACE(kv_type_name(type));
    Pages reference(type, n, kPositions);
    reference.expand(Isa::kReference, matrices);
    KvHead apart(KvType::kF32, {n.key(), n.value}, kPositions);
    KvStoreFn store = kernels_for(Isa::kReference).kv_store[static_cast<size_t>(KvType::kF32)];
    for (uint32_t i = 0; i < kPositions; ++i) {
      apart.put(store, i, reference.keys_of(i), reference.values_of(i));
    }
    Queries queries(9, {n.key(), n.value}, n.latent);
    queries.last = {0, 1, 15, 63, 64, 300, 511, 512, kPositions - 1};
    const std::vector<float> truth =
        queries.run(attend_of(Isa::kReference, KvType::kF32), apart.pages());
    EXPECT_TRUE(same_bits(reference.attend(Isa::kReference, queries), truth));
    for (Isa isa : expanding_levels(type)) {
      SCOPED_TRACE(isa_name(isa));
      Pages pages(type, n, kPositions);
      pages.expand(isa, matrices);
      for (uint32_t i = 0; i < kPositions; ++i) {
        ASSERT_TRUE(same_bits(pages.keys_of(i), reference.keys_of(i))) << i;
        ASSERT_TRUE(same_bits(pages.values_of(i), reference.values_of(i))) << i;
      }
      EXPECT_TRUE(same_bits(pages.attend(isa, queries), truth));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Lengths, ExpandedSizes,
                         testing::Values(Lengths{512, 64, 128, 128}, Lengths{20, 8, 24, 28},
                                         Lengths{36, 12, 20, 24}, Lengths{48, 20, 12, 16},
                                         Lengths{33, 2, 1, 1}, Lengths{80, 16, 100, 144}),
                         [](const testing::TestParamInfo<Lengths>& i) {
                           return "Of" + std::to_string(i.param.latent);
                         });

// Calls have between one row and the most rows that a call may have. Rows are tokens that follow
// each other.
TEST(LatentExpandedTest, ARowDoesNotDependOnItsCompany) {
  const Lengths n{48, 16, 32, 40};
  Matrices matrices(n);
  Pages pages(KvType::kF16, n, 300);
  Queries all(kMaxLatentRows, {n.key(), n.value}, 8);
  for (uint32_t i = 0; i < all.rows; ++i) all.last[i] = 140 + i;
  for (Isa isa : expanding_levels(KvType::kF16)) {
    pages.expand(isa, matrices);
    const std::vector<float> together = pages.attend(isa, all);
    for (uint32_t rows : {1u, 2u, 5u, 7u, 16u, 65u}) {
      Queries some = all;
      some.rows = rows;
      const std::vector<float> out = pages.attend(isa, some);
      EXPECT_TRUE(std::equal(out.begin(),
                             out.begin() + (rows - 1) * (n.value + Queries::kGap) + n.value,
                             together.begin()))
          << isa_name(isa) << " " << rows;
    }
  }
}

// A latent that is not finite changes the results of the rows that see it, and of no other row.
TEST(LatentExpandedTest, NonFiniteLatentsShowOnlyInRowsThatSeeThem) {
  const Lengths n{40, 8, 16, 32};
  Matrices matrices(n);
  for (KvType type : kTypes) {
    Pages pages(type, n, 128), clean(type, n, 128);
    pages.put(100, std::vector<float>(n.cached(), std::numeric_limits<float>::infinity()));
    Queries queries(6, {n.key(), n.value}, 10);
    queries.last = {99, 100, 80, 127, 99, 64};
    for (Isa isa : expanding_levels(type)) {
      SCOPED_TRACE(std::string(isa_name(isa)) + " " + kv_type_name(type));
      pages.expand(isa, matrices);
      clean.expand(isa, matrices);
      const std::vector<float> out = pages.attend(isa, queries);
      const std::vector<float> without = clean.attend(isa, queries);
      for (uint32_t i = 0; i < queries.rows; ++i) {
        for (uint32_t e = 0; e < n.value; ++e) {
          const float x = out[queries.out_offset[i] + e];
          if (queries.last[i] >= 100) {
            ASSERT_FALSE(std::isfinite(x)) << i << " " << e;
          } else {
            ASSERT_EQ(x, without[queries.out_offset[i] + e]) << i << " " << e;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace hearth
