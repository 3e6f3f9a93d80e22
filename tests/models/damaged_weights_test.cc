// Tests of weights so large that sums of their products overflow. A request to such a model ends in
// an error that says so, whatever the type of weights. It never gets zeros that look like a result.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <tuple>

#include "base/error.h"
#include "engine/logits.h"
#include "engine/scheduler.h"
#include "formats/gguf.h"
#include "formats/test_model.h"
#include "models/registry.h"
#include "tiny_engine.h"

namespace hearth {
namespace {

constexpr uint32_t kVocabulary = 80;

class DamagedWeights : public testing::TestWithParam<std::tuple<Isa, KvType, bool>> {
 protected:
  // Returns the results for a prompt of 20 tokens.
  std::vector<Result> ask(float scale, Deliver deliver) {
    auto [isa, kv_type, codes] = GetParam();
    TinyShape shape;
    shape.scale = scale;
    shape.codes = codes;
    ModelSource file = parse_gguf(tiny_llama(shape), "tiny");
    EngineOptions options;
    options.threads = 1;
    options.context = 64;
    options.kv_type = kv_type;
    options.scored_rows = 7;
    Engine engine(file, make_spec(file), Machine::invented(1, 1), isa, options);
    Statistics statistics;
    Scheduler scheduler(engine, nullptr, {}, statistics);
    std::mt19937 random(1);
    Request request;
    request.prompt = random_tokens(random, 20, kVocabulary);
    request.max_tokens = 3;
    request.deliver = deliver;
    request.prompt_logprobs = deliver == Deliver::kPrompt;
    auto stream = std::make_shared<ResultStream>(64);
    scheduler.add(std::make_shared<Job>(1, request, stream));
    while (scheduler.step()) {
    }
    std::vector<Result> results;
    while (std::optional<Result> result = stream->try_pop()) results.push_back(std::move(*result));
    return results;
  }
};

TEST_P(DamagedWeights, GenerateNothing) {
  EXPECT_EQ(ask(1, Deliver::kText).back().finish, Finish::kLength);
  std::vector<Result> results = ask(1e20f, Deliver::kText);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].finish, Finish::kFailed);
  EXPECT_EQ(results[0].error, kNotNumbers);
}

TEST_P(DamagedWeights, ScoreNothing) {
  EXPECT_EQ(ask(1, Deliver::kPrompt).back().finish, Finish::kLength);
  std::vector<Result> results = ask(1e20f, Deliver::kPrompt);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].finish, Finish::kFailed);
  EXPECT_EQ(results[0].error, kNotNumbers);
  EXPECT_TRUE(results[0].prompt_logprobs.empty());
}

TEST_P(DamagedWeights, GiveNoRowOfNumbers) {
  std::vector<Result> sound = ask(1, Deliver::kLogits), damaged = ask(1e20f, Deliver::kLogits);
  ASSERT_EQ(sound.size(), 20u);
  ASSERT_EQ(damaged.size(), 20u);
  for (const Result& result : sound) EXPECT_TRUE(all_finite(result.row)) << result.index;
  for (const Result& result : damaged) EXPECT_FALSE(all_finite(result.row)) << result.index;
}

std::string case_name(const testing::TestParamInfo<DamagedWeights::ParamType>& which) {
  auto [isa, kv_type, codes] = which.param;
  return fmt::format("{}_{}_{}", isa_name(isa), kv_type == KvType::kF16 ? "f16" : "q8_0",
                     codes ? "codes" : "floats");
}

// The error of loading names a norm, bias or sink that is not finite, or a block with such a scale.
TEST(DamagedVectors, AreNamedWhenAModelIsLoaded) {
  const ModelShape shape{.architecture = "gpt-oss",
                         .window = 8,
                         .type = DType::kMXFP4,
                         .experts = {.count = 3, .chosen = 2, .ffn = 32}};
  auto load = [&](std::string_view damaged, float value) -> std::string {
    const ModelSource file = parse_gguf(made_source(shape).gguf([&](const TestTensor& tensor) {
      std::vector<std::byte> bytes(tensor_bytes(tensor));
      if (tensor.name != damaged) return bytes;
      if (tensor.type == DType::kMXFP4) bytes[17 * 3] = std::byte{255};
      if (tensor.type == DType::kF32) std::memcpy(bytes.data() + 4, &value, sizeof value);
      return bytes;
    }),
                                        "tiny");
    EngineOptions options;
    options.threads = 1;
    options.context = 64;
    try {
      Engine engine(file, make_spec(file), Machine::invented(1, 1), Isa::kReference, options);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kFile);
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(load("", 0), "no error");
  EXPECT_EQ(load("blk.0.attn_sinks.weight", -1e30f), "no error");
  for (const char* name : {"blk.0.attn_sinks.weight", "blk.0.ffn_gate_exps.bias",
                           "blk.0.ffn_gate_inp.bias", "blk.0.attn_norm.weight"}) {
    for (float value : {NAN, INFINITY, -INFINITY}) {
      EXPECT_EQ(
          load(name, value),
          fmt::format(
              "'tiny': tensor {} has a value that is infinite or NaN; download the model again",
              name));
    }
  }
  const std::string scale = load("blk.0.ffn_up_exps.weight", 0);
  EXPECT_NE(scale.find("blk.0.ffn_up_exps.weight is negative, infinite or NaN"), std::string::npos)
      << scale;
}

// The weights stay in the file, which every step reads. The file is cut short while they are in
// use.
TEST(CutFile, EndsStepsWithASentence) {
  const std::string path = testing::TempDir() + "hearth_cut_file_test.gguf";
  const std::vector<std::byte> bytes =
      made_source({.architecture = "gemma4", .layers = 2, .window = 8, .per_layer = 256}).gguf();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  const ModelSource file = open_model_source(path);
  EngineOptions options;
  options.threads = 1;
  options.context = 64;
  Engine engine(file, make_spec(file), Machine::invented(1, 1), Isa::kReference, options);
  auto ask = [&]() -> std::string {
    const std::vector<int32_t> tokens = {3, 99};
    auto sequence = engine.new_sequence();
    try {
      engine.prefill(*sequence, tokens);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kFile);
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(ask(), "no error");
  std::filesystem::resize_file(path, 64);
  EXPECT_EQ(ask(), fmt::format("'{}' was truncated while it was read, or its disk fails: load it "
                               "again once the file is complete",
                               path));
  std::filesystem::remove(path);
}

INSTANTIATE_TEST_SUITE_P(All, DamagedWeights,
                         testing::Combine(testing::ValuesIn(available_isas(detect_cpu_features())),
                                          testing::Values(KvType::kF16, KvType::kQ8_0),
                                          testing::Bool()),
                         case_name);

}  // namespace
}  // namespace hearth
