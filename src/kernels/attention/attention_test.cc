#include "kernels/attention/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "kernels/attention/test_attention_problem.h"
#include "kernels/attention/test_attention_truth.h"
#include "kernels/test_levels.h"

namespace hearth {
namespace {

// Lengths of keys and values. Either keys or values may be longer, by whole blocks of q8_0 or by
// less.
const HeadLengths kLengths[] = {8,        16,       20,       24,         40,         64,
                                80,       128,      256,      {192, 128}, {128, 192}, {24, 16},
                                {16, 24}, {80, 96}, {96, 80}, {8, 40},    {33, 1},    {512, 20}};

std::vector<KvType> types() { return {KvType::kF32, KvType::kF16, KvType::kBF16, KvType::kQ8_0}; }

// Tests each size of head with every type. Rows see from 1 to all 700 positions, with and without a
// window. The ends of pages and of spans are among the positions.
class AttentionSizes : public testing::TestWithParam<HeadLengths> {};

TEST_P(AttentionSizes, AllLevelsGiveTheTruthInTheSameBits) {
  const HeadLengths lengths = GetParam();
  constexpr uint32_t kPositions = 700;
  std::mt19937 random(lengths.key);
  for (KvType type : types()) {
    SCOPED_TRACE(kv_type_name(type));
    KvHead head = filled_head(type, lengths, kPositions, lengths.key);
    for (uint32_t window : {0u, 1u + static_cast<uint32_t>(random() % 130)}) {
      SCOPED_TRACE(window);
      Queries queries(11, lengths, lengths.key + window);
      queries.window = window;
      queries.last = {0, 1, 15, 63, 64, 511, 512, kPositions - 1};
      while (queries.last.size() < queries.rows) queries.last.push_back(random() % kPositions);
      expect_true_everywhere(head, queries);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Lengths, AttentionSizes, testing::ValuesIn(kLengths));

TEST(AttentionTest, EveryCountOfPositionsAndRows) {
  KvHead head = filled_head(KvType::kF16, 24, 200, 5);
  // The vectors of a tile of 80 elements lie in one block of q8_0, in two blocks, or in the last
  // block, which is half a block.
  KvHead codes = filled_head(KvType::kQ8_0, 80, 200, 6);
  for (uint32_t positions = 1; positions <= 200; positions += positions < 70 ? 1 : 13) {
    SCOPED_TRACE(positions);
    for (const KvHead* of : {&head, &codes}) {
      Queries queries(1 + positions % 9, HeadLengths(of->key_length(), of->value_length()),
                      positions);
      std::fill(queries.last.begin(), queries.last.end(), positions - 1);
      expect_true_everywhere(*of, queries);
    }
  }
}

// The rows are the heads of one token, as in decode.
TEST(AttentionTest, RowsOfAToken) {
  for (KvType type : types()) {
    SCOPED_TRACE(kv_type_name(type));
    KvHead head = filled_head(type, 128, 150, 7);
    for (uint32_t rows = 1; rows <= 12; ++rows) {
      Queries queries(rows, 128, 20 + rows);
      std::fill(queries.last.begin(), queries.last.end(), 149);
      expect_true_everywhere(head, queries);
    }
  }
}

// Nearly all of the weight lies on a position of small values, as models put it on the first one.
// The larger values of the other positions must not make the rounding coarser.
TEST(AttentionTest, AHeavyPositionOfSmallValues) {
  KvHead head(KvType::kQ8_0, 64, 64);
  KvStoreFn store = kernels_for(Isa::kReference).kv_store[static_cast<size_t>(KvType::kQ8_0)];
  for (uint32_t i = 0; i < 64; ++i) {
    std::vector<float> k(64, 0.0f), v(64, i == 0 ? 0.01f : 1.0f);
    k[5] = i == 0 ? 11.2f : 0.0f;
    head.put(store, i, k, v);
  }
  Queries queries(4, 64, 21);
  std::fill(queries.last.begin(), queries.last.end(), 63);
  for (size_t offset : queries.offset) queries.q[offset + 5] = 1.0f / queries.scale;
  expect_true_everywhere(head, queries);
}

// One key, value or query that is not finite makes every element of a row's result NaN or infinite,
// in whichever visible slot it lies.
TEST(AttentionTest, NonFiniteInputsShowInTheResult) {
  constexpr uint32_t kHeadDim = 64;
  const std::vector<float> infinite(kHeadDim, INFINITY), finite(kHeadDim, 1.0f);
  for (KvType type : types()) {
    KvStoreFn store = kernels_for(Isa::kReference).kv_store[static_cast<size_t>(type)];
    for (uint32_t slot : {64u, 100u, 127u}) {
      KvHead key = filled_head(type, kHeadDim, 128, 8), value = filled_head(type, kHeadDim, 128, 8);
      key.put(store, slot, infinite, finite);
      value.put(store, slot, finite, infinite);
      KvHead whole = filled_head(type, kHeadDim, 128, 8);
      Queries queries(3, kHeadDim, 22), odd = queries;
      std::fill(queries.last.begin(), queries.last.end(), 127);
      odd.last = queries.last;
      for (size_t offset : odd.offset) odd.q[offset + slot % kHeadDim] = INFINITY;
      for (Isa isa : attend_levels(type)) {
        SCOPED_TRACE(isa_name(isa));
        AttendFn attend = attend_of(isa, type);
        for (const std::vector<float>& out :
             {queries.run(attend, key.pages()), queries.run(attend, value.pages()),
              odd.run(attend, whole.pages())}) {
          for (uint32_t i = 0; i < 3; ++i) {
            for (uint32_t d = 0; d < kHeadDim; ++d) {
              ASSERT_FALSE(std::isfinite(out[queries.out_offset[i] + d]))
                  << kv_type_name(type) << " slot " << slot << " element " << d;
            }
          }
        }
      }
    }
  }
}

TEST(AttentionTest, TheLargestCallAndHead) {
  for (HeadLengths lengths : {HeadLengths(500), HeadLengths(kMaxHeadDim),
                              HeadLengths(kMaxHeadDim, 8), HeadLengths(8, kMaxHeadDim)}) {
    for (KvType type : {KvType::kF32, KvType::kQ8_0}) {
      KvHead head = filled_head(type, lengths, 150, 5);
      Queries queries(kMaxQueryRows, lengths, 6);
      for (uint32_t i = 0; i < queries.rows; ++i) queries.last[i] = 100 + i / 2;
      expect_true_everywhere(head, queries);
    }
  }
}

// The call has so many rows of neighbouring tokens that a page is unpacked. So the positions that a
// row sees end within a tile, and with a window they also begin there.
TEST(AttentionTest, RowsOfAPrompt) {
  constexpr uint32_t kTokens = 16, kHeads = 4;
  for (HeadLengths lengths :
       {HeadLengths(80), HeadLengths(128), HeadLengths(192, 128), HeadLengths(24, 48)}) {
    for (KvType type : types()) {
      SCOPED_TRACE(kv_type_name(type));
      KvHead head = filled_head(type, lengths, 200, lengths.key);
      for (uint32_t window : {0u, 70u}) {
        Queries queries(kTokens * kHeads, lengths, 19);
        queries.window = window;
        for (uint32_t i = 0; i < queries.rows; ++i) queries.last[i] = 184 + i / kHeads;
        expect_true_everywhere(head, queries);
      }
    }
  }
}

TEST(AttentionTest, ARowDoesNotDependOnItsCompany) {
  constexpr uint32_t kHeadDim = 40;
  for (KvType type : types()) {
    KvHead head = filled_head(type, kHeadDim, 1200, 7);
    for (uint32_t window : {0u, 3u, 70u, 600u}) {
      Queries queries(kMaxQueryRows, kHeadDim, 8);
      queries.window = window;
      std::mt19937 random(9);
      for (uint32_t i = 0; i < queries.rows; ++i) {
        // Half of the rows are neighbours, as in prefill, and half are anywhere.
        queries.last[i] = i < 32 ? 1000 + i / 4 : random() % 1200;
      }
      for (Isa isa : attend_levels(type)) {
        AttendFn attend = attend_of(isa, type);
        std::vector<float> together = queries.run(attend, head.pages());
        std::vector<uint32_t> backwards;
        for (uint32_t i = queries.rows; i-- > 0;) backwards.push_back(i);
        EXPECT_TRUE(same_bits(queries.run(attend, head.pages(), backwards), together));
        for (uint32_t i = 0; i < queries.rows; i += 5) {
          std::vector<float> alone = queries.run(attend, head.pages(), {i});
          EXPECT_EQ(0, std::memcmp(&alone[queries.out_offset[i]], &together[queries.out_offset[i]],
                                   kHeadDim * sizeof(float)))
              << isa_name(isa) << " " << kv_type_name(type) << " row " << i;
        }
      }
    }
  }
}

// Expects equal bits for spans visited apart. Some rows see all of 4 spans, some see only a part of
// these, and some see nothing of the later spans.
void expect_spans_apart(KvType type, HeadLengths lengths, uint32_t rows, uint32_t window) {
  constexpr uint32_t kPositions = 1700;
  KvHead head = filled_head(type, lengths, kPositions, lengths.key);
  Queries queries(rows, lengths, window + 3);
  queries.window = window;
  for (uint32_t i = 0; i < rows; ++i) queries.last[i] = (i + 1) * 733 % kPositions;
  for (Isa isa : attend_levels(type)) {
    AttendFn attend = attend_of(isa, type);
    MergeFn merge = kernels_for(isa).merge_spans;
    std::vector<float> whole = queries.run(attend, head.pages());
    for (const std::vector<uint32_t>& cuts :
         {std::vector<uint32_t>{4}, {1, 2, 3, 4}, {2, 2, 4}, {3, 4, 4}}) {
      EXPECT_TRUE(same_bits(queries.run_spans(attend, merge, head.pages(), cuts), whole))
          << isa_name(isa) << " " << kv_type_name(type) << " " << lengths.key << " " << window;
    }
  }
}

TEST(AttentionTest, SpansVisitedApartGiveTheSameBits) {
  for (KvType type : types()) {
    for (uint32_t window : {0u, 700u}) expect_spans_apart(type, 40, 7, window);
    expect_spans_apart(type, {48, 20}, 7, 0);
    expect_spans_apart(type, {20, 72}, 7, 700);
  }
  expect_spans_apart(KvType::kQ8_0, 500, 40, 600);  // more rows than scratch holds at once
}

TEST(AttentionTest, PagesThatNoRowSeesAreNotRead) {
  for (KvType type : types()) {
    KvHead head = filled_head(type, 32, 1000, 10);
    Queries queries(3, 32, 11);
    queries.window = 100;
    queries.last = {130, 140, 700};  // pages 0..2 and 9..10
    for (Isa isa : attend_levels(type)) {
      std::vector<float> all = queries.run(attend_of(isa, type), head.pages());
      std::vector<KvPage> some(head.pages().begin(), head.pages().begin() + 11);
      for (uint32_t i = 3; i < 9; ++i) some[i] = {nullptr, nullptr};
      EXPECT_TRUE(same_bits(queries.run(attend_of(isa, type), some), all)) << isa_name(isa);
    }
  }
}

// A position that a row does not see does not change its result. It may even be NaN, and other rows
// of the tile may see it.
TEST(AttentionTest, InvisibleSlotsMayHoldAnything) {
  constexpr uint32_t kHeadDim = 32;
  for (KvType type : types()) {
    KvStoreFn store = kernels_for(Isa::kReference).kv_store[static_cast<size_t>(type)];
    KvHead clean = filled_head(type, kHeadDim, 90, 12);
    KvHead dirty = filled_head(type, kHeadDim, 90, 12);
    std::vector<float> infinite(kHeadDim, INFINITY);
    dirty.put(store, 85, infinite, infinite);
    dirty.put(store, 10, infinite, infinite);
    // The rows are so few that they make one tile, or so many that a page is unpacked.
    for (uint32_t heads : {1u, 3u}) {
      Queries queries(6 * heads, kHeadDim, 13);
      queries.window = 72;
      // Only the first token sees slot 10, and only the last two tokens see slot 85.
      for (uint32_t i = 0; i < queries.rows; ++i) queries.last[i] = 81 + i / heads;
      for (Isa isa : attend_levels(type)) {
        std::vector<float> expected = queries.run(attend_of(isa, type), clean.pages());
        std::vector<float> got = queries.run(attend_of(isa, type), dirty.pages());
        for (uint32_t i = 0; i < queries.rows; ++i) {
          const float* row = &got[queries.out_offset[i]];
          const float* clean_row = &expected[queries.out_offset[i]];
          if (queries.last[i] == 81 || queries.last[i] >= 85) {
            EXPECT_TRUE(std::isnan(row[0]));
          } else {
            EXPECT_EQ(0, std::memcmp(row, clean_row, kHeadDim * sizeof(float)))
                << isa_name(isa) << " " << kv_type_name(type) << " row " << i;
          }
        }
      }
    }
  }
}

TEST(AttentionTest, EqualScoresGiveTheMean) {
  for (KvType type : types()) {
    KvHead head = filled_head(type, 16, 650, 14);
    Queries queries(2, 16, 15);
    std::fill(queries.q.begin(), queries.q.end(), 0.0f);
    queries.last = {1, 649};
    expect_true_everywhere(head, queries);
  }
}

// Scores that grow with the position change the maximum in every page; scores that fall do not.
TEST(AttentionTest, SlopesOfScores) {
  for (KvType type : {KvType::kF32, KvType::kQ8_0}) {
    KvStoreFn store = kernels_for(Isa::kReference).kv_store[static_cast<size_t>(type)];
    for (float slope : {0.3f, -0.3f, 3.0f, -3.0f, 40.0f}) {
      KvHead head = filled_head(type, 16, 1100, 16);
      Queries queries(7, 16, 17);
      for (uint32_t i = 0; i < 1100; ++i) {
        std::vector<float> k(16, 0.0f), v(16, 0.0f);
        k[3] = slope * static_cast<float>(i);
        for (uint32_t d = 0; d < 16; ++d) v[d] = static_cast<float>((i * 7 + d) % 31) - 15.0f;
        head.put(store, i, k, v);
      }
      for (uint32_t i = 0; i < 7; ++i) queries.last[i] = 1099 - 100 * i;
      for (size_t offset : queries.offset) queries.q[offset + 3] = 1.0f / queries.scale;
      SCOPED_TRACE(slope);
      expect_true_everywhere(head, queries);
    }
  }
}

TEST(AttentionTest, HugeScoresPickTheirMaximum) {
  KvHead head(KvType::kF32, 16, 600);
  KvStoreFn store = kernels_for(Isa::kReference).kv_store[0];
  for (uint32_t i = 0; i < 600; ++i) {
    std::vector<float> k(16, 0.0f), v(16, static_cast<float>(i));
    k[0] = i == 313 ? 3e18f : (i % 2 == 0 ? -3e18f : 2e18f);
    head.put(store, i, k, v);
  }
  Queries queries(4, 16, 18);
  std::fill(queries.q.begin(), queries.q.end(), 0.0f);
  for (uint32_t i = 0; i < 4; ++i) queries.q[queries.offset[i]] = i < 2 ? 4e19f : 1e-3f;
  queries.last = {599, 400, 599, 350};
  for (Isa isa : attend_levels(KvType::kF32)) {
    std::vector<float> out = queries.run(attend_of(isa, KvType::kF32), head.pages());
    for (uint32_t i = 0; i < 4; ++i) {
      for (uint32_t d = 0; d < 16; ++d) EXPECT_EQ(out[queries.out_offset[i] + d], 313.0f);
    }
  }
}

}  // namespace
}  // namespace hearth
