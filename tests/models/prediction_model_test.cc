// Tests that the cost model counts the engine's work: the bytes, operations, barriers and
// cross-group points of a real model's graphs, for any plan.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "cost/cost_model.h"
#include "engine/engine.h"
#include "engine/engine_plan.h"
#include "formats/gguf.h"
#include "graph/test_sync_counts.h"
#include "models/test_source.h"
#include "tiny_model.h"

namespace hearth {
namespace {

constexpr uint32_t kPrompt = 20;

// Returns the profiled work of one step of a sequence.
OpWork work_of_step(Engine& engine, Sequence& sequence, uint32_t tokens, Want want = Want::kLast) {
  engine.set_profiling(true);
  std::vector<int32_t> ids(tokens, 7);
  StepRequest request{&sequence, ids, want};
  engine.step({&request, 1});
  OpWork work;
  Phase phase = tokens > engine.options().decode_rows ? Phase::kPrefill : Phase::kDecode;
  for (const ProfileRow& row : engine.profile(phase).rows) work += row.work;
  engine.set_profiling(false);
  return work;
}

// Returns the profiled work of a text of an encoder.
OpWork work_of_text(Engine& engine, uint32_t tokens) {
  return work_of_step(engine, *engine.new_sequence(), tokens, Want::kHidden);
}

uint32_t barriers_of(const Graph& graph) {
  return static_cast<uint32_t>(
      std::count_if(graph.nodes.begin(), graph.nodes.end(),
                    [](const GraphNode& node) { return node.barrier_after; }));
}

// Returns the number of cross-group points in all layers and outside them.
uint32_t meetings_of(const Graph& graph, uint32_t layers) {
  uint32_t meetings = 0;
  for (int layer = -1; layer < static_cast<int>(layers); ++layer) {
    meetings += sync_counts(graph, layer).cross_group;
  }
  return meetings;
}

void expect_predicted(const StepCost& cost, const OpWork& work, const Graph& graph,
                      uint32_t layers) {
  EXPECT_DOUBLE_EQ(cost.weight_bytes + cost.kv_bytes, static_cast<double>(work.bytes));
  for (size_t u = 0; u < kArithmeticUnits; ++u) {
    EXPECT_DOUBLE_EQ(cost.ops[u], static_cast<double>(work.operations[u])) << u;
  }
  EXPECT_EQ(cost.barriers, barriers_of(graph));
  EXPECT_EQ(cost.meetings, meetings_of(graph, layers));
}

struct Layout {
  uint32_t threads, shards, groups;
  GroupSync sync = GroupSync::kAsync;
};

void expect_predicted(const ModelSource& file, const std::vector<Layout>& layouts) {
  ModelSpec model = make_spec(file);
  const uint32_t layers = model.hyper.layers;
  Isa isa = available_isas(detect_cpu_features()).back();
  for (auto [threads, shards, groups, sync] : layouts) {
    SCOPED_TRACE(std::to_string(shards) + " shards, groups: " + std::to_string(groups));
    EngineOptions options;
    options.threads = threads;
    options.shards = shards;
    options.prefill_groups = options.decode_groups = groups;
    options.sync = sync;
    options.context = 128;
    options.decode_rows = 4;
    options.expand = {.tail = 8, .step = 1};
    Machine machine = Machine::invented(shards, threads / shards);
    Engine engine(file, model, machine, isa, options);
    EnginePlan plan = plan_engine(machine, engine.options());
    BandwidthTable table = assumed_bandwidth(machine);
    auto cost = [&](const Plan& phase, const StepShape& step) {
      return predict_step(machine, table, model,
                          {phase, plan.placement, plan.shard_nodes, plan.shares}, step);
    };
    // Models with latents are tried with a prompt whose rows are all expanded, partly expanded, or
    // not expanded.
    for (uint32_t known : {0u, kPrompt, kPrompt + 8}) {
      auto sequence = engine.new_sequence(known);
      const uint32_t expanded = sequence->expanded();
      OpWork prefill = work_of_step(engine, *sequence, kPrompt);
      expect_predicted(cost(plan.prefill, {kPrompt, 0, expanded}), prefill,
                       engine.graph(Phase::kPrefill), layers);
      OpWork decode = work_of_step(engine, *sequence, 1);
      expect_predicted(cost(plan.decode, {1, kPrompt}), decode, engine.graph(Phase::kDecode),
                       layers);
      if (!model.has_latents()) break;
      EXPECT_EQ(expanded, known - std::min(known, 8u));
    }
  }
}

void expect_predicted(const TinyShape& shape, const std::vector<Layout>& layouts) {
  expect_predicted(parse_gguf(tiny_llama(shape), "tiny"), layouts);
}

TEST(PredictedModel, CountsWhatTheEngineDoes) {
  expect_predicted({.layers = 3, .heads = 8, .kv_heads = 4}, {{1, 1, 1},
                                                              {2, 1, 2},
                                                              {4, 2, 1},
                                                              {2, 2, 2},
                                                              {4, 2, 4},
                                                              {3, 3, 3},
                                                              {2, 2, 2, GroupSync::kLockstep},
                                                              {2, 1, 1, GroupSync::kLockstep}});
}

// Shards that share a KV head each compute and read a copy of its keys and values. The prediction
// counts all copies.
TEST(PredictedModel, CountsKvHeadsOnSeveralShards) {
  expect_predicted({.layers = 3, .heads = 8, .kv_heads = 2}, {{4, 4, 1}, {4, 4, 4}, {8, 4, 8}});
  expect_predicted({.layers = 2, .heads = 12, .kv_heads = 3}, {{2, 2, 1}, {2, 2, 2}, {4, 2, 4}});
}

// States are read and written, once an item.
TEST(PredictedModel, CountsStates) {
  expect_predicted(parse_gguf(tiny_qwen35({.layers = 4}), "tiny"),
                   {{1, 1, 1}, {2, 1, 2}, {4, 2, 1}, {4, 2, 4}});
}

// Each group of a shard has its own copy of the shard's latents.
TEST(PredictedModel, CountsLatents) {
  for (uint32_t rank : {0u, 40u}) {
    expect_predicted(
        parse_gguf(latent_source({.layers = 2, .heads = 8, .q_lora_rank = rank}).gguf(), "zeros"),
        {{1, 1, 1}, {2, 1, 2}, {4, 2, 1}, {2, 2, 2}, {4, 2, 4}});
  }
}

TEST(PredictedModel, CountsWhatAnEncoderDoes) {
  for (const char* architecture : {"bert", "nomic-bert", "jina-bert-v2"}) {
    SCOPED_TRACE(architecture);
    TestSource test_source = encoder_source(
        {.architecture = architecture, .layers = 2, .width = 64, .heads = 4, .ffn = 96});
    if (std::string_view(architecture) == "jina-bert-v2") {
      for (const char* name : {"blk.0.attn_q_norm", "blk.0.attn_k_norm", "blk.1.attn_norm_2"}) {
        test_source.add(std::string(name) + ".weight", {64});
      }
    }
    ModelSource file = parse_gguf(test_source.gguf(), "zeros");
    ModelSpec model = make_spec(file);
    for (auto [threads, shards, groups] : {std::array{1u, 1u, 1u}, {4u, 2u, 1u}, {4u, 2u, 4u}}) {
      EngineOptions options;
      options.threads = threads;
      options.shards = shards;
      options.prefill_groups = options.decode_groups = groups;
      options.decode_rows = 4;
      options.context = 40;
      Machine machine = Machine::invented(shards, threads / shards);
      Isa isa = available_isas(detect_cpu_features()).back();
      Engine engine(file, model, machine, isa, options);
      EnginePlan plan = plan_engine(machine, engine.options());
      BandwidthTable table = assumed_bandwidth(machine);
      auto cost = [&](const Plan& phase, uint32_t tokens) {
        return predict_step(machine, table, model,
                            {phase, plan.placement, plan.shard_nodes, plan.shares}, {tokens, 0});
      };
      expect_predicted(cost(plan.prefill, kPrompt), work_of_text(engine, kPrompt),
                       engine.graph(Phase::kPrefill), 2);
      expect_predicted(cost(plan.decode, 1), work_of_text(engine, 1), engine.graph(Phase::kDecode),
                       2);
    }
  }
}

}  // namespace
}  // namespace hearth
