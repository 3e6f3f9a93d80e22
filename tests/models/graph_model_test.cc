// What holds of a model's graph: its memory, its barriers, and that several runs of it may be under
// way.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "engine/kv_pool.h"
#include "graph/executor.h"
#include "models/registry.h"
#include "tiny_model.h"

namespace hearth {
namespace {

// A loaded model with everything in plain sight, over as many shards and groups as the plan says.
class Harness {
 public:
  Harness(const TinyShape& shape, const Plan& plan)
      : machine_(Machine::invented(plan.shard_count(), 1)),
        file_(GgufFile::parse(tiny_llama(shape), "tiny")),
        weights_(file_),
        team_(plan.member_count()) {
    const Architecture& architecture = architecture_for(file_);
    config_ = read_decoder_config(file_);
    architecture.configure(file_, &config_);
    axes_ = std::make_unique<DecoderAxes>(
        cut_decoder(config_, std::vector<uint32_t>(plan.shard_count(), 1)));
    Isa isa = available_isas(detect_cpu_features()).back();
    GraphBuilder builder(plan, kernels_for(isa), plan.max_rows);
    DecoderBuilder decoder(builder, weights_, config_, *axes_);
    architecture.build(decoder);
    graph = std::move(builder).finish();
    for (uint32_t s = 0; s < plan.shard_count(); ++s) {
      arenas_.emplace_back(machine_, s, weights_.shard_bytes(s), "weights");
    }
    weights_.load(team_, plan.member_shards, arenas_, [](size_t) {});
    for (uint32_t m = 0; m < plan.member_count(); ++m) {
      scratch_.emplace_back(machine_, 0, kOpScratchBytes, "scratch");
      scratch_bases_.push_back(scratch_.back().allocate(kOpScratchBytes));
    }
    executor = std::make_unique<Executor>(team_, plan, scratch_bases_);
  }

  // A context with memory and a KV cache of its own.
  struct Run {
    std::vector<Arena> arenas;
    std::unique_ptr<ExecutionContext> context;
    std::vector<int32_t> tokens;
    std::vector<uint32_t> positions, items_of_rows, outputs, pages{0, 1};
    std::vector<StepItem> items;
    std::vector<float> logits;
  };

  std::unique_ptr<Run> start(const std::vector<int32_t>& tokens) {
    auto run = std::make_unique<Run>();
    std::vector<std::byte*> bases;
    for (size_t bytes : graph.activation_bytes) {
      run->arenas.emplace_back(machine_, 0, bytes, "activations");
      bases.push_back(run->arenas.back().allocate(bytes));
    }
    KvView kv;
    kv.type = KvType::kF32;
    kv.head_dim = config_.head_dim;
    kv.page_count = 2;
    for (uint32_t s = 0; s < axes_->heads.shard_count(); ++s) {
      uint32_t heads = axes_->heads.shard(s).size();
      size_t bytes = kv.shard_bytes(config_.layers, heads);
      run->arenas.emplace_back(machine_, 0, bytes, "kv");
      kv.shards.push_back({run->arenas.back().allocate(bytes), heads});
    }
    run->context = std::make_unique<ExecutionContext>(graph, bases, kv);
    run->tokens = tokens;
    auto n = static_cast<uint32_t>(tokens.size());
    for (uint32_t i = 0; i < n; ++i) {
      run->positions.push_back(i);
      run->items_of_rows.push_back(0);
      run->outputs.push_back(i);
    }
    run->items = {{0, n, 0, run->pages.data()}};
    size_t stride = (config_.vocabulary + 15) / 16 * 16;
    run->logits.assign(n * stride, -1);
    run->context->begin({run->tokens, run->positions, run->items_of_rows, run->items, run->outputs,
                         n, run->logits.data(), stride});
    return run;
  }

  Graph graph;
  std::unique_ptr<Executor> executor;

 private:
  Machine machine_;
  GgufFile file_;
  WeightStore weights_;
  Team team_;
  DecoderConfig config_;
  std::unique_ptr<DecoderAxes> axes_;
  std::vector<Arena> arenas_, scratch_;
  std::vector<std::byte*> scratch_bases_;
};

std::vector<int32_t> random_tokens(uint32_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int32_t> tokens(n);
  for (int32_t& t : tokens) t = static_cast<int32_t>(random() % 80);
  return tokens;
}

TEST(ModelGraph, ActivationMemoryDoesNotDependOnLayers) {
  for (uint32_t groups : {1u, 2u}) {
    Plan plan = even_plan(Phase::kPrefill, 32, groups, groups, groups);
    Harness shallow(TinyShape{.layers = 3}, plan), deep(TinyShape{.layers = 24}, plan);
    EXPECT_EQ(shallow.graph.activation_bytes, deep.graph.activation_bytes) << groups;
  }
}

TEST(ModelGraph, TwoCrossGroupPointsAndEightBarriersALayer) {
  auto count = [](uint32_t layers, uint32_t groups) {
    Harness harness(TinyShape{.layers = layers},
                    even_plan(Phase::kDecode, 4, groups, groups, groups));
    auto barriers = std::count_if(harness.graph.nodes.begin(), harness.graph.nodes.end(),
                                  [](const Node& n) { return n.barrier_after; });
    return std::pair<long, uint32_t>{barriers, harness.graph.sync_count};
  };
  auto [barriers1, points1] = count(1, 2);
  auto [barriers5, points5] = count(5, 2);
  EXPECT_EQ(points1, 2u);
  EXPECT_EQ(points5, 10u);
  EXPECT_EQ(barriers5 - barriers1, 4 * 8);
  EXPECT_EQ(count(5, 1).second, 0u);
}

TEST(ModelGraph, TwoContextsInterleaveOverTwoNodesAndGroups) {
  for (uint32_t shards : {1u, 2u}) {
    Plan plan = even_plan(Phase::kPrefill, 100, shards, 2, 4);
    Harness harness(TinyShape{}, plan);
    auto end = static_cast<uint32_t>(harness.graph.nodes.size());
    auto alone_a = harness.start(random_tokens(90, 1)),
         alone_b = harness.start(random_tokens(70, 2));
    harness.executor->run(*alone_a->context);
    harness.executor->run(*alone_b->context);
    EXPECT_NE(alone_a->logits, alone_b->logits);
    auto a = harness.start(alone_a->tokens), b = harness.start(alone_b->tokens);
    std::mt19937 chance(4);
    for (uint32_t at_a = 0, at_b = 0; at_a < end || at_b < end;) {
      bool first = at_b == end || (at_a < end && chance() % 2 == 0);
      uint32_t& at = first ? at_a : at_b;
      uint32_t to = std::min(end, at + 1 + static_cast<uint32_t>(chance() % 4));
      harness.executor->run_range(first ? *a->context : *b->context, at, to);
      at = to;
    }
    EXPECT_EQ(0, std::memcmp(a->logits.data(), alone_a->logits.data(), a->logits.size() * 4));
    EXPECT_EQ(0, std::memcmp(b->logits.data(), alone_b->logits.data(), b->logits.size() * 4));
  }
}

}  // namespace
}  // namespace hearth
