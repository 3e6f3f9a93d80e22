// Sinks: each row has one more score than positions that it sees. The sink is far above the other
// scores, far below them, or near them.
#include <gtest/gtest.h>

#include <random>

#include "kernels/attention/test_attention_problem.h"
#include "kernels/attention/test_attention_truth.h"
#include "kernels/test_levels.h"

namespace hearth {
namespace {

constexpr KvType kSinkTypes[] = {KvType::kF32, KvType::kF16, KvType::kBF16, KvType::kQ8_0};
// The sinks of the rows, whose scores lie between about -4 and 4.
constexpr float kSinks[] = {0.25f, 5.0f, -3.0f, 30.0f, -30.0f, 0.0f, 2.5f};

// Makes `rows` queries, with kSinks in turn. Each of them sees the positions up to a random one.
Queries sinking(uint32_t rows, HeadLengths lengths, uint32_t positions, uint32_t seed) {
  Queries queries(rows, lengths, seed);
  std::mt19937 random(seed);
  for (uint32_t i = 0; i < rows; ++i) {
    queries.last[i] = random() % positions;
    queries.sink.push_back(kSinks[i % std::size(kSinks)]);
  }
  return queries;
}

TEST(SinkTest, AllLevelsGiveTheTruthInTheSameBits) {
  for (KvType type : kSinkTypes) {
    SCOPED_TRACE(kv_type_name(type));
    for (HeadLengths lengths : {HeadLengths(16), HeadLengths(64), HeadLengths(40, 24)}) {
      KvHead head = filled_head(type, lengths, 700, lengths.key);
      for (uint32_t window : {0u, 1u, 33u, 130u}) {
        Queries queries = sinking(17, lengths, 700, lengths.key + window);
        queries.window = window;
        expect_true_everywhere(head, queries);
      }
    }
  }
}

// The call has more rows than scratch holds at once. A row's sink must be taken by the row's index
// in the call, not by its index in a block of rows.
TEST(SinkTest, TheLargestCallAndHead) {
  for (KvType type : {KvType::kF32, KvType::kQ8_0}) {
    KvHead head = filled_head(type, kMaxHeadDim, 150, 5);
    expect_true_everywhere(head, sinking(kMaxQueryRows, kMaxHeadDim, 150, 6));
  }
}

TEST(SinkTest, ARowDoesNotDependOnItsCompany) {
  for (KvType type : kSinkTypes) {
    expect_no_company(filled_head(type, 40, 1200, 7), sinking(kMaxQueryRows, 40, 1200, 8));
  }
}

// A sink counts once, however the spans are dealt to calls.
TEST(SinkTest, SpansVisitedApartGiveTheSameBits) {
  for (auto [type, length, rows, window] : {std::tuple{KvType::kF32, 40u, 7u, 0u},
                                            {KvType::kQ8_0, 40u, 7u, 0u},
                                            {KvType::kF16, 300u, 40u, 0u},
                                            {KvType::kBF16, 64u, 9u, 600u}}) {
    KvHead head = filled_head(type, length, 1700, length);
    Queries queries = sinking(rows, length, 1700, 9);
    queries.window = window;
    expect_spans_apart(head, queries);
  }
}

// A sink that is far below the scores changes no bit. A sink that is far above them makes the
// result 0.
TEST(SinkTest, Ends) {
  for (KvType type : kSinkTypes) {
    KvHead head = filled_head(type, 48, 700, 3);
    Queries queries = sinking(20, 48, 700, 4), none = queries;
    none.sink.clear();
    for (Isa isa : attend_levels(type)) {
      AttendFn attend = attend_of(isa, type);
      queries.sink.assign(queries.rows, -1e30f);
      EXPECT_TRUE(same_bits(queries.run(attend, head.pages()), none.run(attend, head.pages())))
          << isa_name(isa) << " " << kv_type_name(type);
      queries.sink.assign(queries.rows, 1e30f);
      const std::vector<float> out = queries.run(attend, head.pages());
      for (size_t at : queries.out_offset) EXPECT_EQ(out[at], 0.0f) << isa_name(isa);
    }
  }
}

// A row that sees one position with a score of 0 gives half of its weight to a sink of 0.
TEST(SinkTest, TheSinkTakesItsShare) {
  KvHead head(KvType::kF32, 16, 1);
  head.put(kernels_for(Isa::kReference).kv_store[0], 0, std::vector<float>(16, 1.0f),
           std::vector<float>(16, 6.0f));
  Queries queries(2, 16, 12);
  std::fill(queries.q.begin(), queries.q.end(), 0.0f);
  queries.sink = {0.0f, 0.6931472f};
  for (Isa isa : attend_levels(KvType::kF32)) {
    const std::vector<float> out = queries.run(attend_of(isa, KvType::kF32), head.pages());
    EXPECT_EQ(out[queries.out_offset[0]], 3.0f) << isa_name(isa);
    EXPECT_NEAR(out[queries.out_offset[1]], 2.0f, 1e-6f) << isa_name(isa);
  }
}

}  // namespace
}  // namespace hearth
