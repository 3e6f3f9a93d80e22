#include "bench/work.h"

#include <gtest/gtest.h>

#include "kernels/kernels.h"
#include "models/core_graph.h"
#include "models/test_source.h"

namespace hearth {
namespace {

constexpr ArithmeticUnitSet kAllUnits{true, true, true, true};

size_t index(ArithmeticUnit unit) { return static_cast<size_t>(unit); }

// Two layers with matrices of every kind: Q8_0 has 34 bytes for 32 weights, Q4_K 144 and Q6_K 210
// for 256.
TestSource small_source(bool tied, uint32_t window = 0) {
  TestSource source = llama_source({.layers = 2,
                                    .width = 256,
                                    .key_length = 32,
                                    .value_length = 64,
                                    .window = window,
                                    .tied = tied});
  for (uint32_t layer : {0, 1}) {
    source.add(layer_tensor(layer, "attn_q.weight"), {256, 128}, DType::kQ8_0);
    source.add(layer_tensor(layer, "attn_k.weight"), {256, 64}, DType::kQ8_0);
    source.add(layer_tensor(layer, "attn_v.weight"), {256, 128}, DType::kQ8_0);
    source.add(layer_tensor(layer, "attn_output.weight"), {256, 256}, DType::kF32);
    source.add(layer_tensor(layer, "ffn_gate.weight"), {256, 96}, DType::kQ4_K);
    source.add(layer_tensor(layer, "ffn_up.weight"), {256, 96}, DType::kQ4_K);
    source.add(layer_tensor(layer, "ffn_down.weight"), {96, 256}, DType::kBF16);
  }
  source.add("token_embd.weight", {256, 100}, DType::kF16);
  if (!tied) source.add("output.weight", {256, 100}, DType::kQ6_K);
  source.add("blk.0.attn_rot_embd.weight", {16});  // a table that no step reads
  return source;
}

constexpr uint64_t kLayerBytes = 320 * 8 * 34 + 256 * 1024 + 192 * 144 + 256 * 192;
// Operations a token: by type of arithmetic in both layers together, and in the matrix of logits.
constexpr double kInt8Ops = 2 * 2.0 * 256 * (320 + 192), kBf16Ops = 2 * 2.0 * 256 * 96,
                 kF32Ops = 2 * 2.0 * 256 * 256, kHeadOps = 2.0 * 256 * 100;
// Operations for a query and a key in all layers and heads. Bytes of a position's keys and values
// in f16.
constexpr double kPairOps = 2 * 4 * 2.0 * (32 + 64);
constexpr uint64_t kPositionBytes = 2 * 2 * (32 + 64) * 2;

class CountCase : public testing::Test {
 protected:
  CaseWork count(const BenchCase& what, bool tied = false, uint32_t window = 0) {
    TestModel model(small_source(tied, window));
    std::vector<CutAxis> axes = cut_axes(model.spec(), std::vector<uint32_t>(shards, 1));
    WeightTable weights(model.spec(), axes);
    Graph graph = build_graph(model.spec(), weights, even_plan(what.phase, 16, shards, groups, 4),
                              kernels_for(Isa::kReference), {.outputs = 16});
    WorkGraph walked{graph, kv_type, units};
    unit = walked.unit();
    return count_case(walked, what);
  }

  uint32_t shards = 1, groups = 1;
  KvType kv_type = KvType::kF16;
  ArithmeticUnitSet units = kAllUnits;
  ArithmeticUnit unit = ArithmeticUnit::kF32Fma;  // set by the last count
};

TEST_F(CountCase, BytesOfTheSource) {
  constexpr BenchCase kDecode{Phase::kDecode, 1, 1, 9};
  CaseWork untied = count(kDecode);
  EXPECT_EQ(untied.weight_bytes, 2 * kLayerBytes + 100 * 210 + 512);
  EXPECT_EQ(untied.kv_bytes, 10 * kPositionBytes);
  EXPECT_EQ(untied.attention_unit, ArithmeticUnit::kF32Fma);
  // The head reads the whole table, and the embedding reads one more row of it.
  EXPECT_EQ(count(kDecode, true).weight_bytes, 2 * kLayerBytes + 100 * 512 + 512);
  kv_type = KvType::kQ8_0;
  CaseWork q8 = count(kDecode);
  EXPECT_EQ(q8.kv_bytes, 10u * 2 * 2 * (34 + 2 * 34));
  EXPECT_EQ(q8.attention_unit, ArithmeticUnit::kInt16Dot);
}

TEST_F(CountCase, OperationsByUnit) {
  constexpr BenchCase kDecode{Phase::kDecode, 1, 1, 0};
  CaseWork work = count(kDecode);
  EXPECT_EQ(work.gemm_ops[index(ArithmeticUnit::kInt8Dot)], kInt8Ops + kHeadOps);
  EXPECT_EQ(work.gemm_ops[index(ArithmeticUnit::kBf16Dot)], kBf16Ops);
  EXPECT_EQ(work.gemm_ops[index(ArithmeticUnit::kF32Fma)], kF32Ops);
  EXPECT_EQ(work.attention_ops, kPairOps);
  EXPECT_EQ(unit, ArithmeticUnit::kInt8Dot);

  // The embedding is also the head, in F16. A level without BF16 dot computes BF16 by FMA too.
  units = units_of(kernels_for(Isa::kReference).limits);
  CaseWork tied = count(kDecode, true);
  EXPECT_EQ(tied.gemm_ops[index(ArithmeticUnit::kBf16Dot)], 0);
  EXPECT_EQ(tied.gemm_ops[index(ArithmeticUnit::kInt8Dot)], kInt8Ops);
  EXPECT_EQ(tied.gemm_ops[index(ArithmeticUnit::kF32Fma)], kF32Ops + kBf16Ops + kHeadOps);
}

TEST_F(CountCase, PrefillWantsOneRowOfLogits) {
  CaseWork work = count({Phase::kPrefill, 4, 1, 10});
  EXPECT_EQ(work.gemm_ops, (UnitOps{4 * kF32Ops, 4 * kBf16Ops, 4 * kInt8Ops + kHeadOps}));
  // Positions 10 to 13 see 11, 12, 13 and 14 keys.
  EXPECT_EQ(work.attention_ops, 50 * kPairOps);
  EXPECT_EQ(work.ops(), 4 * (kF32Ops + kBf16Ops + kInt8Ops) + kHeadOps + 50 * kPairOps);
  EXPECT_EQ(work.weight_bytes, 0u);
}

TEST_F(CountCase, DecodeReadsWeightsOnceForAllSequences) {
  CaseWork work = count({Phase::kDecode, 3, 4, 5});
  EXPECT_EQ(work.steps, 3u);
  EXPECT_EQ(work.weight_bytes, 2 * kLayerBytes + 100 * 210 + 4 * 512);
  EXPECT_EQ(work.gemm_ops, (UnitOps{12 * kF32Ops, 12 * kBf16Ops, 12 * (kInt8Ops + kHeadOps)}));
  // Four sequences at positions 5 to 7 see 6, 7 and 8 keys. That is 21 pairs each, and 28 keys a
  // step.
  EXPECT_EQ(work.attention_ops, 4 * 21 * kPairOps);
  EXPECT_EQ(work.kv_bytes, 28 * kPositionBytes);
}

TEST_F(CountCase, ASlidingWindowBoundsTheKeys) {
  // The rows see 6, 7, 7 and 7 keys.
  EXPECT_EQ(count({Phase::kPrefill, 4, 1, 5}, false, 7).attention_ops, 27 * kPairOps);
  EXPECT_EQ(count({Phase::kDecode, 4, 1, 100}, false, 7).kv_bytes, 7 * kPositionBytes);
}

// Bytes and operations do not depend on groups and shards.
TEST_F(CountCase, GroupsAndShardsChangeNothing) {
  for (BenchCase what :
       {BenchCase{Phase::kPrefill, 4, 1, 10}, BenchCase{Phase::kDecode, 3, 4, 5}}) {
    shards = groups = 1;
    CaseWork whole = count(what);
    for (auto [s, g] : {std::pair{2u, 1u}, std::pair{2u, 2u}, std::pair{2u, 4u}}) {
      shards = s;
      groups = g;
      CaseWork cut = count(what);
      EXPECT_EQ(cut.weight_bytes, whole.weight_bytes) << s << " " << g;
      EXPECT_EQ(cut.kv_bytes, whole.kv_bytes) << s << " " << g;
      EXPECT_EQ(cut.gemm_ops, whole.gemm_ops) << s << " " << g;
      EXPECT_EQ(cut.attention_ops, whole.attention_ops) << s << " " << g;
    }
  }
}

TEST(BenchCases, EveryLengthAtEveryDepth) {
  BenchLists lists{{512, 0}, {128}, {0, 64}, {1, 4}};
  std::vector<BenchCase> expected = {{Phase::kPrefill, 512, 1, 0}, {Phase::kDecode, 128, 1, 0},
                                     {Phase::kDecode, 128, 4, 0},  {Phase::kPrefill, 512, 1, 64},
                                     {Phase::kDecode, 128, 1, 64}, {Phase::kDecode, 128, 4, 64}};
  EXPECT_EQ(bench_cases(lists), expected);
  EXPECT_TRUE(bench_cases({{0}, {0}, {0}, {1}}).empty());
}

TEST(BenchCases, Names) {
  EXPECT_EQ(case_text({Phase::kPrefill, 512, 1, 0}), "prefill 512");
  EXPECT_EQ(case_text({Phase::kDecode, 128, 4, 64}), "decode 128 x 4 sequences at depth 64");
}

}  // namespace
}  // namespace hearth
