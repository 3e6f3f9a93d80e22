// What hyper-parameters come of a source's keys, and of its tensors where these say more.
#include "models/hyper_parameters.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "kernels/rope/rope.h"
#include "models/registry.h"
#include "models/test_source.h"

namespace hearth {
namespace {

HyperParameters read(TestSource made) {
  ModelSource source = made.source();
  return read_hyper_parameters(source, architecture_for(source).kind);
}

TestSource with_experts(TestSource source, const std::string& architecture) {
  source.set(architecture + ".expert_count", uint32_t{8});
  source.set(architecture + ".expert_used_count", uint32_t{2});
  return source;
}

// A bias for choosing experts tells sigmoid, where no key tells anything.
TEST(HyperParameters, ABiasOfTheRouterTellsItsGating) {
  TestSource latent = with_experts(latent_source({.layers = 2}), "deepseek2");
  TestSource llama = with_experts(llama_source({}), "llama");
  EXPECT_EQ(read(latent).experts.router.gating, Gating::kSoftmax);
  EXPECT_EQ(read(llama).experts.router.gating, Gating::kSoftmax);
  latent.add("blk.1.exp_probs_b.bias", {8});
  llama.add("blk.0.exp_probs_b.bias", {8});
  EXPECT_EQ(read(latent).experts.router.gating, Gating::kSigmoid);
  EXPECT_EQ(read(llama).experts.router.gating, Gating::kSigmoid);
  for (auto [said, gating] :
       {std::pair{0u, Gating::kSigmoid}, {1u, Gating::kSoftmax}, {2u, Gating::kSigmoid}}) {
    TestSource with_key = latent;
    with_key.set("deepseek2.expert_gating_func", said);
    EXPECT_EQ(read(with_key).experts.router.gating, gating) << said;
  }
}

std::string unread_refusal(TestSource source, ErrorCode code) {
  try {
    read(std::move(source));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  return "no error";
}

TestSource llama_with(const char* key, auto value) {
  return llama_source({}).set(std::string("llama.") + key, value);
}

// A factor needs no type to be linear, under its old name neither; 0 is none.
TEST(HyperParameters, AFactorOfRopeIsLinear) {
  for (const char* key : {"rope.scaling.factor", "rope.scale_linear"}) {
    const RopeParams rope = read(llama_with(key, 4.0f)).rope;
    EXPECT_EQ(rope.scaling, RopeScaling::kLinear) << key;
    EXPECT_EQ(rope.factor, 4) << key;
    EXPECT_EQ(read(llama_with(key, 0.0f)).rope.factor, 1) << key;
  }
  TestSource none = llama_with("rope.scaling.factor", 4.0f);
  none.set("llama.rope.scaling.type", "none");
  EXPECT_EQ(read(none).rope.scaling, RopeScaling::kNone);
  EXPECT_EQ(read(llama_source({})).rope.scaling, RopeScaling::kNone);
  // The newer key counts.
  TestSource both = llama_with("rope.scaling.factor", 2.0f);
  EXPECT_EQ(read(both.set("llama.rope.scale_linear", 8.0f)).rope.factor, 2);
  EXPECT_NE(unread_refusal(none.set("llama.rope.scaling.type", "longrope"), ErrorCode::kUnsupported)
                .find("RoPE scaling 'longrope'"),
            std::string::npos);
}

TEST(HyperParameters, SinesGrowWhateverTheScalingOfRope) {
  for (const char* key : {"rope.scaling.attn_factor", "rope.scaling.yarn_attn_factor"}) {
    EXPECT_EQ(make_rope_table(read(llama_with(key, 0.5f)).rope).magnitude, 0.5) << key;
  }
  EXPECT_NE(unread_refusal(llama_with("rope.scaling.yarn_ext_factor", 1.0f), ErrorCode::kFile)
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
    EXPECT_EQ(read(llama_with(test.key, test.neutral)).layers, 1u) << test.key;
    const std::string error =
        unread_refusal(llama_with(test.key, test.other), ErrorCode::kUnsupported);
    EXPECT_NE(error.find(fmt::format("'test.gguf' says llama.{} = {}", test.key, test.other)),
              std::string::npos)
        << error;
  }
  EXPECT_NE(unread_refusal(llama_with("ssm.conv_kernel", uint32_t{4}), ErrorCode::kUnsupported),
            "no error");
  EXPECT_NE(unread_refusal(llama_with("use_parallel_residual", true), ErrorCode::kUnsupported),
            "no error");
  EXPECT_EQ(read(llama_with("use_parallel_residual", false)).layers, 1u);
}

// They matter where there is a window at all.
TEST(HyperParameters, KeysOfWindowedLayersAreRefused) {
  TestSource source = llama_with("attention.sliding_window_pattern", uint32_t{6});
  source.set("llama.rope.freq_base_swa", 1e4f);
  EXPECT_EQ(read(source).window, 0u);
  source.set("llama.attention.sliding_window", uint32_t{512});
  EXPECT_NE(unread_refusal(source, ErrorCode::kUnsupported).find("sliding_window_pattern = 6"),
            std::string::npos);
  TestSource latent = latent_source({});
  latent.set("deepseek2.attention.sliding_window", uint32_t{512});
  EXPECT_NE(unread_refusal(latent, ErrorCode::kUnsupported).find("attention.sliding_window = 512"),
            std::string::npos);
}

}  // namespace
}  // namespace hearth
