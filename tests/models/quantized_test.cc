// Tests of models quantised while they are loaded. Their results are near those of the unquantised
// model. They have the same bits for every number of threads, and the bits of the file that
// write_quantized makes of the same model.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "formats/gguf.h"
#include "formats/test_importance.h"
#include "golden_set.h"
#include "models/registry.h"
#include "models/write_quantized.h"
#include "tensor/quantize_row.h"

namespace hearth {
namespace {

std::vector<float> rows_of(const ModelSource& source, const ModelSpec& spec,
                           const GoldenModel& model, uint32_t threads, uint32_t shards) {
  EngineOptions options;
  options.threads = threads;
  options.shards = shards;
  options.context = 1024;
  options.kv_type = KvType::kF32;
  options.prefill_rows = options.outputs = 64;
  Engine engine(source, spec, Machine::invented(shards, threads / shards),
                available_isas(detect_cpu_features()).back(), options);
  return golden_rows(engine, model, 64);
}

GoldenModel golden(const std::string& name) {
  for (const char* list :
       {"models", "moe_models", "hybrid_models", "hf_models", "hf_code_models"}) {
    for (const GoldenModel& model : read_golden_set(list)) {
      if (model.name == name) return model;
    }
  }
  ADD_FAILURE() << name;
  return {};
}

ModelSource written(const ModelSource& source, const WeightPolicy& policy, uint32_t threads) {
  std::vector<std::byte> file;
  Team team(threads);
  uint64_t last = 0;
  write_quantized(
      source, make_spec(source, policy), GgufWriter(), team,
      [&](std::span<const std::byte> bytes) {
        file.insert(file.end(), bytes.begin(), bytes.end());
      },
      [&](uint64_t done, uint64_t all) {
        EXPECT_GT(done, last);
        EXPECT_LE(done, all);
        last = done;
      });
  return parse_gguf(std::move(file), "written");
}

std::string test_name(const testing::TestParamInfo<const char*>& of) {
  std::string name = of.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

class Quantized : public testing::TestWithParam<const char*> {};

TEST_P(Quantized, HasTheBitsOfTheFileWithAnyThreads) {
  const GoldenModel model = golden(GetParam());
  const ModelSource source = open_model_source(model.path);
  for (const DType type : quantized_dtypes()) {
    const WeightPolicy policy{type};
    const ModelSpec spec = make_spec(source, policy);
    const std::vector<float> rows = rows_of(source, spec, model, 1, 1);
    EXPECT_TRUE(same_bits(rows_of(source, spec, model, 2, 1), rows)) << dtype_info(type).name;
    const ModelSource file = written(source, policy, 3);
    EXPECT_LT(file.file_bytes(), source.file_bytes());
    EXPECT_TRUE(same_bits(rows_of(file, make_spec(file), model, 2, 1), rows))
        << dtype_info(type).name;
    // Shards of columns begin inside super-blocks.
    EXPECT_TRUE(
        same_bits(rows_of(file, make_spec(file), model, 2, 2), rows_of(source, spec, model, 2, 2)))
        << dtype_info(type).name;
  }
}

// No file has this type. A row's bits do not depend on the cut of rows into shards and panels.
TEST_P(Quantized, Fp8HasTheSameBitsWithAnyThreadsAndIsNearItsFloats) {
  const GoldenModel model = golden(GetParam());
  const ModelSource source = open_model_source(model.path);
  const ModelSpec spec = make_spec(source, WeightPolicy{DType::kF8E4M3});
  EXPECT_TRUE(std::ranges::any_of(spec.weights, [](const WeightSpec& weight) {
    return weight.packed.kind == PackKind::kFP8R;
  }));
  const std::vector<float> rows = rows_of(source, spec, model, 1, 1);
  EXPECT_TRUE(same_bits(rows_of(source, spec, model, 2, 1), rows));
  // FP8 codes have an error of 2.2 % of the weights (docs/quantize.md). Rounding to BF16 has one of
  // 0.11 % of activations, 20 times less. So FP8 moves the logits 20 times as far as BF16 does, as
  // an independent draw.
  const double moved = difference(rows, model.logits).rms / model.std();
  EXPECT_LT(moved, 20 * std::sqrt(2) * model.activation_bf16.rms);
  EXPECT_GT(moved, 0.022);
  // Two shards sum in another order, and some of the sums are rounded to other numbers of BF16.
  const std::vector<float> cut = rows_of(source, spec, model, 2, 2);
  EXPECT_LT(difference(cut, rows).rms / model.std(), 0.005);
}

// A shard with some columns of a matrix still fits whole rows, with the importance of all their
// columns.
TEST_P(Quantized, Fp8WithImportanceIsNearOnTwoShards) {
  const GoldenModel model = golden(GetParam());
  const ModelSource source = open_model_source(model.path);
  const auto all = [](std::string_view) { return true; };
  const ModelSpec spec =
      make_spec(source, WeightPolicy{DType::kF8E4M3, false, made_importance(source, all)});
  const ModelSpec evenly = make_spec(source, WeightPolicy{DType::kF8E4M3});
  const std::vector<float> rows = rows_of(source, spec, model, 1, 1);
  const std::vector<float> cut = rows_of(source, spec, model, 2, 2);
  EXPECT_LT(difference(cut, rows).rms / model.std(), 0.005);
  const std::vector<float> other = rows_of(source, evenly, model, 1, 1);
  EXPECT_GT(difference(other, rows).rms / model.std(), 0.02);
}

// Weights and activations are both rounded to codes of 8 bits in blocks of 32. The reference tells
// how far the rounding of activations moves its logits. That of weights is another draw of that
// size, so both give sqrt(2) of it, and the bound is twice that.
TEST_P(Quantized, In8BitsIsNearItsFloats) {
  const GoldenModel model = golden(GetParam());
  const ModelSource source = open_model_source(model.path);
  ASSERT_GT(model.activation_q8_0.rms, 0);
  const std::vector<float> rows =
      rows_of(source, make_spec(source, WeightPolicy{DType::kQ8_0}), model, 1, 1);
  const double moved = difference(rows, model.logits).rms / model.std();
  EXPECT_LT(moved, 2 * std::sqrt(2) * model.activation_q8_0.rms);
  EXPECT_GT(moved, model.activation_q8_0.rms / 2);
}

// The file names the importance matrix, and has the bits of a model loaded with it.
TEST_P(Quantized, ImportanceGivesTheBitsOfTheFile) {
  const GoldenModel model = golden(GetParam());
  const ModelSource source = open_model_source(model.path);
  const auto all = [](std::string_view) { return true; };
  const WeightPolicy policy{DType::kQ4_K, false, made_importance(source, all)};
  const ModelSpec spec = make_spec(source, policy);
  const std::vector<float> rows = rows_of(source, spec, model, 1, 1);
  const ModelSource file = written(source, policy, 2);
  EXPECT_TRUE(same_bits(rows_of(file, make_spec(file), model, 1, 1), rows));
  EXPECT_TRUE(
      same_bits(rows_of(file, make_spec(file), model, 2, 2), rows_of(source, spec, model, 2, 2)));
  EXPECT_FALSE(
      same_bits(rows_of(source, make_spec(source, WeightPolicy{DType::kQ4_K}), model, 1, 1), rows));
  const Metadata& metadata = file.metadata();
  EXPECT_EQ(metadata.get<std::string>("quantize.imatrix.file"), "made.imatrix");
  EXPECT_EQ(metadata.get<std::string>("quantize.imatrix.dataset"), "made.txt");
  EXPECT_EQ(metadata.get<size_t>("quantize.imatrix.entries_count"),
            policy.importance->entries().size());
  EXPECT_EQ(metadata.get<uint32_t>("quantize.imatrix.chunks_count"), 3u);
}

INSTANTIATE_TEST_SUITE_P(Models, Quantized,
                         testing::Values("llama-f32", "llama-f16-gqa4", "qwen3moe-bf16",
                                         "qwen35-f32-three-each", "qwen35-f16"),
                         test_name);

// Folders of floats: the file has the bits of the folder loaded with --weights.
class QuantizedFolder : public testing::TestWithParam<const char*> {};

TEST_P(QuantizedFolder, HasTheBitsOfTheFile) {
  const GoldenModel model = golden(GetParam());
  const ModelSource source = open_model_source(model.path);
  for (const DType type : {DType::kQ8_0, DType::kQ5_K}) {
    const WeightPolicy policy{type};
    const ModelSource file = written(source, policy, 2);
    EXPECT_TRUE(same_bits(rows_of(file, make_spec(file), model, 2, 1),
                          rows_of(source, make_spec(source, policy), model, 2, 1)))
        << dtype_info(type).name;
    EXPECT_EQ(file.metadata().get<uint32_t>("general.file_type"), type == DType::kQ8_0 ? 7u : 16u);
    // llama.cpp needs these types.
    EXPECT_EQ(file.require_tensor("output_norm.weight").dtype, DType::kF32);
    const SourceTensor* router = file.find_tensor("blk.1.ffn_gate_inp.weight");
    EXPECT_TRUE(router == nullptr || router->dtype == DType::kF32);
  }
}

// The entries use GGUF's names of tensors.
TEST(QuantizedFolders, ImportanceGivesTheBitsOfTheFile) {
  const GoldenModel model = golden("hf-qwen3moe-bf16");
  const ModelSource source = open_model_source(model.path);
  const auto all = [](std::string_view) { return true; };
  const WeightPolicy policy{DType::kQ4_0, false, made_importance(source, all)};
  const ModelSource file = written(source, policy, 2);
  EXPECT_TRUE(same_bits(rows_of(file, make_spec(file), model, 1, 1),
                        rows_of(source, make_spec(source, policy), model, 1, 1)));
  EXPECT_NE(file.metadata().find("quantize.imatrix.file"), nullptr);
}

INSTANTIATE_TEST_SUITE_P(Models, QuantizedFolder,
                         testing::Values("hf-llama-bf16-llama3", "hf-llama-f16-bias",
                                         "hf-qwen3moe-bf16", "hf-mixtral-bf16", "hf-glm4moe-bf16",
                                         "hf-deepseek2-bf16", "hf-gemma3-bf16"),
                         test_name);

// FP8 and codes are decoded, so the file is as near to the reference as files of floats.
class DecodedFolder : public testing::TestWithParam<const char*> {};

TEST_P(DecodedFolder, IsNearTheReference) {
  const GoldenModel model = golden(GetParam());
  const ModelSource source = open_model_source(model.path);
  WeightPolicy policy{DType::kQ8_0};
  policy.decode = true;
  const auto has_codes = [](const SourceTensor& tensor) { return tensor.has_codes(); };
  const auto names_it = [](const std::string& note) {
    return note.find("rounds a second time") != std::string::npos;
  };
  EXPECT_EQ(std::ranges::any_of(weight_policy_notes(make_spec(source, policy)).warnings, names_it),
            std::ranges::any_of(source.tensors(), has_codes));
  const ModelSource file = written(source, policy, 2);
  const std::vector<float> rows = rows_of(file, make_spec(file), model, 2, 1);
  EXPECT_LT(difference(rows, model.logits).rms / model.std(),
            2 * std::sqrt(2) * model.activation_q8_0.rms);
}

INSTANTIATE_TEST_SUITE_P(Models, DecodedFolder,
                         testing::Values("hf-llama-fp8", "hf-qwen3-fp8", "hf-deepseek3-fp8",
                                         "hf-llama-mxfp8", "hf-llama-gptq4", "hf-llama-nvfp4",
                                         "hf-deepseek3-packed4"),
                         test_name);

TEST(QuantizedFile, QuantizedWeightsKeepTheirType) {
  const GoldenModel model = golden("llama-q4_0");
  const ModelSource source = open_model_source(model.path);
  const WeightPolicy policy{DType::kQ8_0};
  const ModelSpec spec = make_spec(source, policy);
  for (const WeightSpec& weight : spec.weights) {
    if (weight.dtype != DType::kQ4_0) continue;
    EXPECT_EQ(weight.packed, DType::kQ4_0) << weight.name;
  }
}

}  // namespace
}  // namespace hearth
