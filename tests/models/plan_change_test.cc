// Tests of engines that take another plan between steps. The results are the same to the bit, even
// if the plan changes in the middle of a sequence or gives the work to other members. Some plans
// are refused, and a plan's memory is given back when the plan is replaced.
#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/engine.h"
#include "formats/gguf.h"
#include "random_plan.h"
#include "same_bits.h"
#include "tiny_model.h"

namespace hearth {
namespace {

class PlanChange : public testing::Test {
 protected:
  std::unique_ptr<Engine> load(const std::vector<std::byte>& file, const EngineOptions& options) {
    ModelSource source = parse_gguf(file, "tiny");
    return std::make_unique<Engine>(source, make_spec(source), machine_, isa_, options);
  }
  static EngineOptions options_with(uint32_t shards, uint32_t groups) {
    EngineOptions options;
    options.threads = 4;
    options.shards = shards;
    options.prefill_groups = options.decode_groups = groups;
    options.context = 192;
    options.sequences = 3;
    options.prefill_rows = 32;
    options.decode_rows = 4;
    return options;
  }
  std::string refusal(Engine& engine, const EnginePlan& plan) {
    try {
      engine.set_plan(plan);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUsage);
      return error.what();
    }
    return "taken";
  }

  const Machine machine_ = Machine::invented(2, 2);
  const Isa isa_ = available_isas(detect_cpu_features()).back();
};

// Runs two sequences in steps of 1 to 40 tokens; the second shares the first one's pages. Returns
// the logits at the ends of all steps. With `random` every step has another plan.
std::vector<float> run(Engine& engine, uint32_t max_parts, std::mt19937* random) {
  std::mt19937 lengths(11);
  const EnginePlan first = engine.plan();
  auto one = engine.new_sequence(), two = engine.new_sequence();
  std::vector<float> rows;
  for (int step = 0; step < 24; ++step) {
    if (random) engine.set_plan(random_plan(first, max_parts, *random));
    std::vector<int32_t> tokens(1 + (step % 3 == 0 ? lengths() % 14 : 0));
    for (int32_t& token : tokens) token = static_cast<int32_t>(lengths() % 80);
    const StepRequest requests[] = {{one.get(), tokens, Want::kLast},
                                    {two.get(), tokens, Want::kLast}};
    EXPECT_TRUE(engine.step(requests));
    for (size_t i : {size_t{0}, size_t{1}}) {
      std::span<const float> row = engine.logits(i);
      rows.insert(rows.end(), row.begin(), row.end());
    }
    // The sequences differ from this step on.
    if (step == 9) {
      const std::vector<int32_t> other = {5, 7};
      const StepRequest request{two.get(), other, Want::kNothing};
      EXPECT_TRUE(engine.step({&request, 1}));
    }
  }
  return rows;
}

TEST_F(PlanChange, EveryStepMayHaveAnother) {
  for (const std::vector<std::byte>& file :
       {tiny_llama(TinyShape{}), tiny_llama(TinyShape{.codes = true}), tiny_deepseek2(TinyShape{}),
        tiny_qwen35(TinyShape{})}) {
    for (uint32_t shards : {1u, 2u}) {
      // The engine begins with as many groups as it will have later, so that it has as many copies
      // of latents.
      std::unique_ptr<Engine> engine = load(file, options_with(shards, shards == 1 ? 3 : 4));
      const uint32_t max_parts = shards == 1 ? 3 : 2;
      const std::vector<float> expected = run(*engine, max_parts, nullptr);
      for (uint32_t seed = 1; seed <= 3; ++seed) {
        std::mt19937 random(seed);
        EXPECT_TRUE(same_bits(run(*engine, max_parts, &random), expected)) << seed;
      }
    }
  }
}

TEST_F(PlanChange, AnyMemberMayRest) {
  std::unique_ptr<Engine> engine = load(tiny_llama(TinyShape{}), options_with(1, 1));
  const std::vector<float> expected = run(*engine, 1, nullptr);
  for (uint32_t member = 0; member < 4; ++member) {
    EnginePlan plan = engine->plan();
    plan.decode.groups = plan.prefill.groups = {{{member}, {0, 1, 0, 1}}};
    engine->set_plan(plan);
    EXPECT_EQ(engine->plan().decode, plan.decode);
    EXPECT_EQ(engine->graph(Phase::kDecode).plan, plan.decode);
    EXPECT_TRUE(same_bits(run(*engine, 1, nullptr), expected)) << member;
  }
}

TEST_F(PlanChange, ProfilesGoOnAnew) {
  std::unique_ptr<Engine> engine = load(tiny_llama(TinyShape{}), options_with(1, 1));
  engine->set_profiling(true);
  EnginePlan plan = engine->plan();
  plan.decode.groups = {{{1, 3}, {0, 1, 0, 1}}};
  engine->set_plan(plan);
  run(*engine, 1, nullptr);
  const ProfileSummary summary = engine->profile(Phase::kDecode);
  EXPECT_EQ(summary.threads, 2u);
  ASSERT_EQ(summary.by_threads.size(), 4u);
  EXPECT_EQ(summary.by_threads[0].total(), 0);
  EXPECT_EQ(summary.by_threads[2].total(), 0);
  EXPECT_GT(summary.by_threads[3].work, 0);
  EXPECT_GT(summary.rows[0].calls, 0u);
}

TEST_F(PlanChange, MemoryFollowsThePlan) {
  std::unique_ptr<Engine> engine = load(tiny_llama(TinyShape{}), options_with(2, 2));
  const MemoryUse before = engine->memory();
  const EnginePlan first = engine->plan();
  EnginePlan plan = first;
  plan.prefill = even_plan(Phase::kPrefill, plan.prefill.max_rows, 2, 4, 4);
  engine->set_plan(plan);
  size_t activations = 0, weights = 0;
  for (const MemoryRegion& region : engine->regions()) {
    if (region.kind == MemoryKind::kActivations) activations += region.bytes;
    if (region.kind == MemoryKind::kWeights) weights += region.bytes;
  }
  EXPECT_EQ(engine->memory().activations, activations);
  EXPECT_GT(activations, before.activations) << "four groups have more copies";
  EXPECT_EQ(weights, before.weights);
  EXPECT_EQ(engine->memory().kv, before.kv);
  engine->set_plan(first);
  EXPECT_EQ(engine->memory().total(), before.total());
}

TEST_F(PlanChange, RefusesPlansThatWouldMoveWeightsOrThreads) {
  std::unique_ptr<Engine> engine = load(tiny_llama(TinyShape{}), options_with(2, 2));
  const EnginePlan first = engine->plan();
  const std::string anew = " differ from those the engine was loaded with: load the model again";
  auto with = [&](const auto& change) {
    EnginePlan plan = first;
    change(plan);
    return refusal(*engine, plan);
  };
  EXPECT_EQ(with([](EnginePlan& p) { std::swap(p.placement.seats[0], p.placement.seats[1]); }),
            "the plan's threads" + anew);
  EXPECT_EQ(with([](EnginePlan& p) { p.shares = {1, 2}; }), "the plan's shares" + anew);
  EXPECT_EQ(with([](EnginePlan& p) { p.shard_nodes = {1, 0}; }), "the plan's shard_nodes" + anew);
  EXPECT_EQ(with([](EnginePlan& p) {
              p.prefill.member_shards = p.decode.member_shards = {0, 1, 1, 1};
            }),
            "the plan's member_shards" + anew);
  EXPECT_EQ(with([](EnginePlan& p) {
              p.decode.groups[0].members = {0, 2};
            }),
            "the plan has member 2 in two groups");
  EXPECT_EQ(with([](EnginePlan& p) { p.prefill.max_rows = 33; }),
            "the plan has max_rows 33 in prefill and 4 in decode, and the engine was loaded for "
            "32: give prefill exactly that many, and decode no more");
  EXPECT_EQ(engine->plan().decode, first.decode) << "nothing has changed";
  const std::vector<int32_t> tokens = {1, 2, 3};
  auto sequence = engine->new_sequence();
  const StepRequest request{sequence.get(), tokens, Want::kLast};
  EXPECT_TRUE(engine->step({&request, 1}));
}

TEST_F(PlanChange, GroupsThatWouldLackTheirCopyOfLatentsAreRefused) {
  std::unique_ptr<Engine> engine = load(tiny_deepseek2(TinyShape{}), options_with(1, 2));
  EnginePlan plan = engine->plan();
  plan.decode = even_plan(Phase::kDecode, 4, 1, 1, 4);
  EXPECT_EQ(refusal(*engine, plan), "taken");
  plan.decode = even_plan(Phase::kDecode, 4, 1, 3, 4);
  EXPECT_EQ(refusal(*engine, plan),
            "the plan has 3 groups on shard 0, and the KV cache holds copies of latents for only "
            "2: use fewer groups, or load the model with this plan");
}

}  // namespace
}  // namespace hearth
