// Tests the hyper-parameters read from a source's keys, and from its tensors if these say more.
#include "models/hyper_parameters.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "kernels/rope/rope.h"
#include "models/model_spec.h"
#include "models/test_source.h"

namespace hearth {
namespace {

// Returns the spec of a source that is gone afterwards; the spec's tensors must not be read.
ModelSpec read(TestSource made) {
  ModelSource source = made.source();
  return make_spec(source);
}

Gating gating_of(const TestSource& source) {
  return read(source).first<ExpertsBlock>()->rule.gating;
}

RopeParams rope_of(const TestSource& source) { return *read(source).first<AttentionBlock>()->rope; }

TestSource experts_of(std::string_view architecture) {
  return made_source({.architecture = architecture,
                      .layers = 2,
                      .experts = {.count = 8, .chosen = 2, .ffn = 32, .dense = 1}});
}

// A router with a bias for choosing experts scores by sigmoid, if no key gives the gating.
TEST(HyperParameters, ARouterBiasMeansSigmoidGating) {
  TestSource latent = experts_of("deepseek2"), llama = experts_of("llama");
  EXPECT_EQ(gating_of(latent), Gating::kSoftmax);
  EXPECT_EQ(gating_of(llama), Gating::kSoftmax);
  latent.add("blk.1.exp_probs_b.bias", {8});
  llama.add("blk.1.exp_probs_b.bias", {8});
  EXPECT_EQ(gating_of(latent), Gating::kSigmoid);
  EXPECT_EQ(gating_of(llama), Gating::kSigmoid);
  for (auto [said, gating] :
       {std::pair{0u, Gating::kSigmoid}, {1u, Gating::kSoftmax}, {2u, Gating::kSigmoid}}) {
    TestSource with_key = latent;
    with_key.set("deepseek2.expert_gating_func", said);
    EXPECT_EQ(gating_of(with_key), gating) << said;
  }
}

TestSource llama_with(const char* key, auto value) {
  return llama_source({}).set(std::string("llama.") + key, value);
}

// A router bias in any layer decides the gating of all layers.
TEST(HyperParameters, ABiasOfOneRouterDecidesTheGatingOfAll) {
  TestSource source = made_source({.architecture = "deepseek2",
                                   .layers = 3,
                                   .experts = {.count = 8, .chosen = 2, .ffn = 32, .dense = 1}});
  EXPECT_EQ(gating_of(source), Gating::kSoftmax);
  source.add("blk.2.exp_probs_b.bias", {8});
  EXPECT_EQ(gating_of(source), Gating::kSigmoid);
}

// A factor without a scaling type is linear, also under its old name; 0 stands for none.
TEST(HyperParameters, AFactorOfRopeIsLinear) {
  for (const char* key : {"rope.scaling.factor", "rope.scale_linear"}) {
    const RopeParams rope = rope_of(llama_with(key, 4.0f));
    EXPECT_EQ(rope.scaling, RopeScaling::kLinear) << key;
    EXPECT_EQ(rope.factor, 4) << key;
    EXPECT_EQ(rope_of(llama_with(key, 0.0f)).factor, 1) << key;
  }
  TestSource none = llama_with("rope.scaling.factor", 4.0f);
  none.set("llama.rope.scaling.type", "none");
  EXPECT_EQ(rope_of(none).scaling, RopeScaling::kNone);
  EXPECT_EQ(rope_of(llama_source({})).scaling, RopeScaling::kNone);
  // The newer key counts if the older key is there too.
  TestSource both = llama_with("rope.scaling.factor", 2.0f);
  EXPECT_EQ(rope_of(both.set("llama.rope.scale_linear", 8.0f)).factor, 2);
  EXPECT_NE(spec_refusal(none.set("llama.rope.scaling.type", "su"), ErrorCode::kUnsupported)
                .find("RoPE scaling 'su'"),
            std::string::npos);
}

TEST(HyperParameters, LongRopeHasTwoSetsOfFactors) {
  TestSource source = llama_with("rope.scaling.original_context_length", 512u);
  auto refused = [&] { return spec_refusal(source, ErrorCode::kFile); };
  source.set("llama.rope.scaling.type", "longrope");
  EXPECT_NE(refused().find("rope_factors_long"), std::string::npos);
  source.add("rope_factors_long.weight", {7});
  EXPECT_NE(refused().find("must have 8 values"), std::string::npos);
}

TEST(HyperParameters, QueriesGrowWithSpansOfPositions) {
  TestSource source = made_source({.architecture = "mistral3"});
  auto temperature = [&] { return read(source).first<AttentionBlock>()->temperature; };
  EXPECT_EQ(temperature().growth, 0);
  source.set("mistral3.attention.temperature_scale", 0.5f);
  EXPECT_EQ(temperature().span, 4096u) << "the model's context";
  source.set("mistral3.rope.scaling.original_context_length", 100u);
  EXPECT_EQ(temperature().at(99), 1);
  EXPECT_FLOAT_EQ(temperature().at(250), 1 + 0.5f * std::log(3.0f));
}

TEST(HyperParameters, SinesGrowWhateverTheScalingOfRope) {
  for (const char* key : {"rope.scaling.attn_factor", "rope.scaling.yarn_attn_factor"}) {
    EXPECT_EQ(make_rope_table(rope_of(llama_with(key, 0.5f)), 4096).magnitude, 0.5) << key;
  }
  EXPECT_NE(spec_refusal(llama_with("rope.scaling.yarn_ext_factor", 1.0f), ErrorCode::kFile)
                .find("rope.scaling.yarn_ext_factor = 1"),
            std::string::npos);
}

TEST(HyperParameters, KeysThatNothingReadsAreRefused) {
  struct Case {
    const char* key;
    float neutral, other;
  };
  constexpr Case kCases[] = {{"attn_logit_softcapping", 0, 50},
                             {"final_logit_softcapping", 0, 30},
                             {"logit_scale", 1, 0.25},
                             {"residual_scale", 0, 0.5},
                             {"embedding_scale", 1, 12},
                             {"attention.clamp_kqv", 0, 8},
                             {"attention.temperature_scale", 0, 0.1f},
                             {"attention.max_alibi_bias", 0, 8},
                             {"rope.scaling.alpha", 0, 1000}};
  for (const Case& test : kCases) {
    EXPECT_EQ(read(llama_with(test.key, test.neutral)).hyper.layers, 1u) << test.key;
    const std::string error =
        spec_refusal(llama_with(test.key, test.other), ErrorCode::kUnsupported);
    EXPECT_NE(error.find(fmt::format("'test.gguf' has llama.{} = {}", test.key, test.other)),
              std::string::npos)
        << error;
  }
  EXPECT_NE(spec_refusal(llama_with("ssm.conv_kernel", uint32_t{4}), ErrorCode::kUnsupported),
            "no error");
  EXPECT_NE(spec_refusal(llama_with("use_parallel_residual", true), ErrorCode::kUnsupported),
            "no error");
  EXPECT_EQ(read(llama_with("use_parallel_residual", false)).hyper.layers, 1u);
}

// A key may have a value for every layer.
TEST(HyperParameters, AValueForEveryLayer) {
  TestSource source = llama_source({.layers = 2});
  source.set("llama.attention.sliding_window", std::vector<uint32_t>{16, 0});
  const ModelSpec spec = read(source);
  EXPECT_EQ(spec.block<AttentionBlock>(0)->window, 16u);
  EXPECT_EQ(spec.block<AttentionBlock>(1)->window, 0u);
  source.set("llama.attention.sliding_window", std::vector<uint32_t>{16});
  EXPECT_NE(spec_refusal(source, ErrorCode::kFile)
                .find("attention.sliding_window' has values for 1 layers, but none for layer 1"),
            std::string::npos);
}

// Keys for windowed layers are refused only in a model that has a window.
TEST(HyperParameters, KeysOfWindowedLayersAreRefused) {
  TestSource source = llama_with("attention.sliding_window_pattern", uint32_t{6});
  source.set("llama.rope.freq_base_swa", 1e4f);
  EXPECT_EQ(read(source).first<AttentionBlock>()->window, 0u);
  source.set("llama.attention.sliding_window", uint32_t{512});
  EXPECT_NE(spec_refusal(source, ErrorCode::kUnsupported).find("sliding_window_pattern = 6"),
            std::string::npos);
  TestSource latent = latent_source({});
  latent.set("deepseek2.attention.sliding_window", uint32_t{512});
  EXPECT_NE(spec_refusal(latent, ErrorCode::kUnsupported).find("attention.sliding_window = 512"),
            std::string::npos);
}

}  // namespace
}  // namespace hearth
