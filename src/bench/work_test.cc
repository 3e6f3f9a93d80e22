#include "bench/work.h"

#include <gtest/gtest.h>

#include "formats/gguf_writer.h"
#include "kernels/kernels.h"

namespace hearth {
namespace {

constexpr uint32_t kWidth = 256, kVocabulary = 100;

void add(GgufWriter* writer, const char* name, uint32_t rows, uint32_t k, DType dtype) {
  std::vector<std::byte> bytes(rows * row_bytes(dtype, k));
  writer->add_tensor(name, {k, rows}, dtype, bytes);
}

// One matrix of each kind, a norm, a table of frequencies, the embedding; a head where not tied.
GgufFile small_file(bool tied) {
  GgufWriter writer;
  writer.set("general.architecture", "llama");
  add(&writer, "token_embd.weight", kVocabulary, kWidth, DType::kF16);
  add(&writer, "blk.0.attn_q.weight", 64, kWidth, DType::kQ8_0);
  add(&writer, "blk.0.ffn_up.weight", 96, kWidth, DType::kQ4_K);
  add(&writer, "blk.0.ffn_down.weight", 32, kWidth, DType::kBF16);
  std::vector<float> norm(kWidth), frequencies(8);
  writer.add_tensor("output_norm.weight", {kWidth}, norm);
  writer.add_tensor("rope_freqs.weight", {8}, frequencies);
  if (!tied) add(&writer, "output.weight", kVocabulary, kWidth, DType::kQ6_K);
  return GgufFile::parse(writer.finish(), "small");
}

DecoderConfig small_config() {
  DecoderConfig config;
  config.layers = 3;
  config.heads = 4;
  config.kv_heads = 2;
  config.head_dim = 32;
  return config;
}

constexpr UnitSet kAllUnits{true, true, true, true};

size_t index(Unit unit) { return static_cast<size_t>(unit); }

// Q8_0 has 34 bytes for 32 weights, Q4_K 144 and Q6_K 210 for 256.
constexpr uint64_t kBody = 64 * 8 * 34 + 96 * 144 + 32 * 512 + 256 * 4;

TEST(CountModel, BytesOfTheFile) {
  ModelWork untied = count_model(small_file(false), small_config(), KvType::kF16, kAllUnits);
  EXPECT_EQ(untied.body_bytes, kBody);
  EXPECT_EQ(untied.head_bytes, 100u * 210);
  EXPECT_EQ(untied.table_row_bytes, 512u);
  ModelWork tied = count_model(small_file(true), small_config(), KvType::kF16, kAllUnits);
  EXPECT_EQ(tied.body_bytes, kBody);
  EXPECT_EQ(tied.head_bytes, 100u * 512);
  EXPECT_EQ(tied.table_row_bytes, 0u);
  // K and V of 3 layers and 2 heads of 32 elements.
  EXPECT_EQ(untied.position_bytes, 3u * 2 * 2 * 32 * 2);
  ModelWork q8 = count_model(small_file(true), small_config(), KvType::kQ8_0, kAllUnits);
  EXPECT_EQ(q8.position_bytes, 3u * 2 * 2 * (32 + 2));
  EXPECT_EQ(untied.attention_unit, Unit::kF32Fma);
  EXPECT_EQ(q8.attention_unit, Unit::kInt16Dot);
}

TEST(CountModel, OperationsByUnit) {
  ModelWork work = count_model(small_file(false), small_config(), KvType::kF16, kAllUnits);
  EXPECT_EQ(work.body_ops[index(Unit::kInt8Dot)], 2.0 * 256 * (64 + 96));
  EXPECT_EQ(work.body_ops[index(Unit::kBf16Dot)], 2.0 * 256 * 32);
  EXPECT_EQ(work.body_ops[index(Unit::kF32Fma)], 0);
  EXPECT_EQ(work.head_ops[index(Unit::kInt8Dot)], 2.0 * 256 * 100);
  EXPECT_EQ(work.pair_ops, 4.0 * 3 * 4 * 32);
  EXPECT_EQ(work.unit(), Unit::kInt8Dot);

  // The embedding as the head is F16. A level without BF16 dot does BF16 by FMA too.
  UnitSet reference = units_of(kernels_for(Isa::kReference).limits);
  ModelWork tied = count_model(small_file(true), small_config(), KvType::kF16, reference);
  EXPECT_EQ(tied.body_ops[index(Unit::kBf16Dot)], 0);
  EXPECT_EQ(tied.body_ops[index(Unit::kF32Fma)], 2.0 * 256 * 32);
  EXPECT_EQ(tied.head_ops[index(Unit::kF32Fma)], 2.0 * 256 * 100);
}

ModelWork round_numbers() {
  ModelWork model;
  model.body_bytes = 1000;
  model.head_bytes = 200;
  model.table_row_bytes = 3;
  model.body_ops = {10, 0, 500};
  model.head_ops = {0, 0, 70};
  model.pair_ops = 8;
  model.attention_unit = Unit::kInt16Dot;
  model.position_bytes = 64;
  return model;
}

TEST(CountCase, PrefillWantsOneRowOfLogits) {
  CaseWork work = count_case(round_numbers(), {Phase::kPrefill, 4, 1, 10});
  EXPECT_EQ(work.gemm_ops, (UnitOps{40, 0, 2070}));
  // Positions 10 to 13 see 11, 12, 13 and 14 keys.
  EXPECT_EQ(work.attention_ops, 50 * 8);
  EXPECT_EQ(work.attention_unit, Unit::kInt16Dot);
  EXPECT_EQ(work.ops(), 40 + 2070 + 400);
  EXPECT_EQ(work.weight_bytes, 0u);
}

TEST(CountCase, DecodeReadsWeightsOnceForAllSequences) {
  CaseWork work = count_case(round_numbers(), {Phase::kDecode, 3, 4, 5});
  EXPECT_EQ(work.steps, 3u);
  EXPECT_EQ(work.weight_bytes, 1000u + 200 + 4 * 3);
  EXPECT_EQ(work.gemm_ops, (UnitOps{120, 0, 12 * 570}));
  // Four sequences, positions 5 to 7 seeing 6, 7 and 8 keys: 21 pairs each, 28 keys a step.
  EXPECT_EQ(work.attention_ops, 4 * 21 * 8);
  EXPECT_EQ(work.kv_bytes, 28u * 64);
}

TEST(CountCase, ASlidingWindowBoundsTheKeys) {
  ModelWork model = round_numbers();
  model.window = 7;
  // 6, 7, 7, 7 keys.
  EXPECT_EQ(count_case(model, {Phase::kPrefill, 4, 1, 5}).attention_ops, 27 * 8);
  EXPECT_EQ(count_case(model, {Phase::kDecode, 4, 1, 100}).kv_bytes, 7u * 64);
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
