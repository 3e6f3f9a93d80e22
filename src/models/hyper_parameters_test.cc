// What hyper-parameters come of a source's keys, and of its tensors where these say more.
#include "models/hyper_parameters.h"

#include <gtest/gtest.h>

#include "models/registry.h"
#include "models/test_latent_source.h"
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

}  // namespace
}  // namespace hearth
