#include "engine/step_logits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "kernels/kernels.h"

namespace hearth {
namespace {

constexpr uint32_t kRows = 3;

// A step's logits as the LM head writes them, and the same rows as plain vectors.
class Step {
 public:
  // Logits that are often equal: integers up to `most`.
  Step(uint32_t vocabulary, uint32_t shards, uint32_t seed, uint32_t most = 50)
      : cuts_((vocabulary + 15) / 16, 1, shares(shards)), logits(vocabulary, kRows, cuts_) {
    for (uint32_t s = 0; s < shards; ++s) {
      memory_.emplace_back(logits.bytes(s) / sizeof(float), NAN);
      logits.place(s, reinterpret_cast<std::byte*>(memory_.back().data()));
    }
    std::mt19937 random(seed);
    for (std::vector<float>& row : rows) {
      row.resize(vocabulary);
      for (float& logit : row) logit = static_cast<float>(random() % most) - 20;
    }
  }
  // Fills the step's logits. Those that pad the last panel are larger than all others.
  void fill() {
    std::span<const ShardLogits> parts = logits.begin_step();
    for (uint32_t s = 0; s < parts.size(); ++s) {
      for (uint32_t r = 0; r < kRows; ++r) {
        size_t first = size_t{cuts_.shard(s).begin} * kPanelRows;
        for (size_t c = 0; c < parts[s].columns(); ++c) {
          parts[s].row(r)[c] = first + c < rows[r].size() ? rows[r][first + c] : 1e9f;
        }
        kernels_for(Isa::kReference)
            .panel_maxima({parts[s].row(r), parts[s].panels, parts[s].row_maxima(r)});
      }
    }
  }

 private:
  // Returns uneven shares, one of them 0.
  static std::vector<uint32_t> shares(uint32_t shards) {
    std::vector<uint32_t> all = {2, 0, 1, 3};
    return {all.begin(), all.begin() + shards};
  }

  AxisCuts cuts_;
  std::vector<std::vector<float>> memory_;

 public:
  StepLogits logits;
  std::vector<float> rows[kRows];
};

std::vector<TokenLogit> copy(std::span<const TokenLogit> tokens) {
  return {tokens.begin(), tokens.end()};
}

// Returns the best tokens by sorting all of them.
std::vector<TokenLogit> expected_best(const std::vector<float>& row, uint32_t count,
                                      uint32_t below) {
  std::vector<TokenLogit> all;
  for (uint32_t t = 0; t < below; ++t) all.push_back({static_cast<int32_t>(t), row[t]});
  std::stable_sort(all.begin(), all.end(), [](auto& a, auto& b) { return a.logit > b.logit; });
  all.resize(std::min<size_t>(count, below));
  return all;
}

TEST(StepLogitsTest, RowsAreWholeWhereverTheirColumnsLie) {
  for (uint32_t shards : {1u, 2u, 3u, 4u}) {
    for (uint32_t vocabulary : {1u, 16u, 100u, 1003u}) {
      Step step(vocabulary, shards, vocabulary);
      for (uint32_t round = 0; round < 2; ++round) {
        step.fill();
        for (size_t r : {0u, 2u, 2u, 1u}) {
          std::span<const float> row = step.logits.row(r);
          EXPECT_EQ(std::vector<float>(row.begin(), row.end()), step.rows[r]) << shards;
        }
        for (float& logit : step.rows[1]) logit += 1;  // gathered last; differs in the next step
      }
    }
  }
}

TEST(StepLogitsTest, TheBestAreThoseOfTheWholeRow) {
  for (uint32_t shards : {1u, 2u, 3u, 4u}) {
    for (uint32_t vocabulary : {1u, 15u, 16u, 17u, 80u, 1003u, 20000u}) {
      for (uint32_t most : {2u, 50u, 1u << 20}) {
        Step step(vocabulary, shards, vocabulary, most);
        step.fill();
        for (uint32_t count : {1u, 2u, 3u, 40u, 300u, 2000u}) {
          for (uint32_t below : {vocabulary, vocabulary - vocabulary / 3}) {
            for (size_t r = 0; r < kRows; ++r) {
              EXPECT_EQ(copy(step.logits.best(r, count, below)),
                        expected_best(step.rows[r], count, below))
                  << shards << " shards, " << count << " of " << below << " of " << vocabulary;
            }
          }
        }
      }
    }
  }
}

TEST(StepLogitsTest, GivesNoBestTokensWhereALogitIsNotFinite) {
  for (uint32_t shards : {1u, 4u}) {
    for (float bad : {NAN, INFINITY, -INFINITY}) {
      for (uint32_t at = 0; at < 60; ++at) {
        Step step(60, shards, at);
        step.rows[1][at] = bad;
        step.fill();
        for (uint32_t below : {1u, 16u, 37u, 48u, 59u, 60u}) {
          EXPECT_EQ(step.logits.best(1, 3, below).empty(), at < below) << at << " " << below;
          EXPECT_FALSE(step.logits.best(0, 3, below).empty());
        }
      }
    }
  }
}

}  // namespace
}  // namespace hearth
