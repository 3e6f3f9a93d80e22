// ALiBi: rows with slopes. The own position of a row is one of the positions that it sees, or lies
// before or behind these.
#include <gtest/gtest.h>

#include <random>

#include "kernels/attention/test_attention_problem.h"
#include "kernels/attention/test_attention_truth.h"
#include "kernels/test_levels.h"

namespace hearth {
namespace {

constexpr KvType kTypes[] = {KvType::kF32, KvType::kF16, KvType::kBF16, KvType::kQ8_0};
constexpr float kSlopes[] = {0.5f, 0x1p-8f, 0.0f, 0.0441941738f, 3.0f, -0.01f};

// Returns rows of every slope, each of which sees the positions up to a random one. Their own
// positions are before, among and behind these.
Queries sloped(uint32_t rows, HeadLengths lengths, uint32_t positions, uint32_t seed) {
  Queries queries(rows, lengths, seed);
  std::mt19937 random(seed);
  for (uint32_t i = 0; i < rows; ++i) {
    queries.last[i] = random() % positions;
    queries.slope.push_back(kSlopes[i % std::size(kSlopes)]);
    const uint32_t last = queries.last[i];
    queries.position.push_back(i % 3 == 0 ? last : i % 3 == 1 ? random() % (last + 1) : last + i);
  }
  return queries;
}

TEST(AlibiTest, AllLevelsGiveTheTruthInTheSameBits) {
  for (KvType type : kTypes) {
    SCOPED_TRACE(kv_type_name(type));
    for (HeadLengths lengths : {HeadLengths(16), HeadLengths(64), HeadLengths(40, 24)}) {
      KvHead head = filled_head(type, lengths, 700, lengths.key);
      for (uint32_t window : {0u, 70u}) {
        Queries queries = sloped(17, lengths, 700, lengths.key + window);
        queries.window = window;
        expect_true_everywhere(head, queries);
      }
    }
  }
}

// The call has more rows than scratch holds at once.
TEST(AlibiTest, TheLargestCallAndHead) {
  for (KvType type : {KvType::kF32, KvType::kQ8_0}) {
    KvHead head = filled_head(type, kMaxHeadDim, 150, 5);
    expect_true_everywhere(head, sloped(kMaxQueryRows, kMaxHeadDim, 150, 6));
  }
}

// The rows are those of an encoder's text: every row sees the same positions, and its own position
// is one of them.
TEST(AlibiTest, RowsOfAText) {
  for (KvType type : kTypes) {
    SCOPED_TRACE(kv_type_name(type));
    for (uint32_t positions : {1u, 6u, 40u, 64u, 65u, 200u}) {
      KvHead head = filled_head(type, 32, positions, positions);
      Queries queries(std::min(positions, kMaxQueryRows), 32, positions);
      for (uint32_t i = 0; i < queries.rows; ++i) {
        queries.last[i] = positions - 1;
        queries.slope.push_back(0.25f);
        queries.position.push_back(positions - 1 - i);
      }
      expect_true_everywhere(head, queries);
    }
  }
}

TEST(AlibiTest, ARowDoesNotDependOnItsCompany) {
  for (KvType type : kTypes) {
    expect_no_company(filled_head(type, 40, 1200, 7), sloped(kMaxQueryRows, 40, 1200, 8));
  }
}

TEST(AlibiTest, SpansVisitedApartGiveTheSameBits) {
  for (auto [type, length, rows] :
       {std::tuple{KvType::kF32, 40u, 7u}, {KvType::kQ8_0, 40u, 7u}, {KvType::kF16, 300u, 40u}}) {
    KvHead head = filled_head(type, length, 1700, length);
    const Queries queries = sloped(rows, length, 1700, 9);
    expect_spans_apart(head, queries);
  }
}

TEST(AlibiTest, ASlopeOfZeroChangesNothing) {
  for (KvType type : kTypes) {
    KvHead head = filled_head(type, 48, 300, 3);
    Queries queries = sloped(20, 48, 300, 4), none = queries;
    queries.slope.assign(queries.rows, 0.0f);
    none.slope.clear();
    for (Isa isa : attend_levels(type)) {
      AttendFn attend = attend_of(isa, type);
      EXPECT_TRUE(same_bits(queries.run(attend, head.pages()), none.run(attend, head.pages())))
          << isa_name(isa) << " " << kv_type_name(type);
    }
  }
}

// Distances are exact however far from 0 the positions lie: moving all positions by whole spans
// changes no bit.
TEST(AlibiTest, ResultsDependOnDistancesOnly) {
  constexpr uint32_t kFurther = 2047 * kSpanPages;  // pages
  for (KvType type : kTypes) {
    KvHead head = filled_head(type, 16, 300, 5);
    std::vector<KvPage> pages(kFurther, KvPage{});
    pages.insert(pages.end(), head.pages().begin(), head.pages().end());
    Queries near = sloped(12, 16, 300, 6);
    near.window = 99;
    for (uint32_t& last : near.last) last = std::max(last, near.window);
    Queries far = near;
    for (uint32_t& last : far.last) last += kFurther * kPagePositions;
    for (uint32_t& position : far.position) position += kFurther * kPagePositions;
    for (Isa isa : attend_levels(type)) {
      AttendFn attend = attend_of(isa, type);
      EXPECT_TRUE(same_bits(far.run(attend, pages), near.run(attend, head.pages())))
          << isa_name(isa) << " " << kv_type_name(type);
    }
  }
}

// The result of a row with a steep slope is the value at its own position.
TEST(AlibiTest, FarPositionsFade) {
  KvHead head = filled_head(KvType::kF32, 16, 500, 11);
  Queries queries(2, 16, 12);
  queries.last = {499, 499};
  queries.slope = {300.0f, 300.0f};
  queries.position = {0, 321};
  for (Isa isa : attend_levels(KvType::kF32)) {
    const std::vector<float> out = queries.run(attend_of(isa, KvType::kF32), head.pages());
    for (uint32_t i = 0; i < 2; ++i) {
      for (uint32_t d = 0; d < 16; ++d) {
        EXPECT_EQ(out[queries.out_offset[i] + d], head.value(queries.position[i], d));
      }
    }
  }
}

}  // namespace
}  // namespace hearth
