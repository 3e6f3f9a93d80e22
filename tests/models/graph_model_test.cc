// Tests a model's graph: its memory, its barriers, and that several runs of it may be under way.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "engine/kv_pool.h"
#include "formats/gguf.h"
#include "graph/executor.h"
#include "graph/sync_layout.h"
#include "graph/test_sync_counts.h"
#include "models/core_graph.h"
#include "models/model.h"
#include "models/test_source.h"
#include "tiny_model.h"

namespace hearth {
namespace {

// Returns a placement of even shards, one a node.
ModelPlacement even_placement(uint32_t shards) {
  ModelPlacement placement{{}, std::vector<uint32_t>(shards, 1)};
  for (uint32_t s = 0; s < shards; ++s) placement.shard_nodes.push_back(s);
  return placement;
}

// A loaded model whose parts are all public, over the plan's shards and groups.
class Harness {
 public:
  Harness(const TinyShape& shape, const Plan& plan)
      : machine_(Machine::invented(plan.shard_count(), 1)),
        file_(parse_gguf(tiny_llama(shape), "tiny")),
        model_(make_spec(file_), machine_, even_placement(plan.shard_count())),
        team_(plan.member_count()) {
    Isa isa = available_isas(detect_cpu_features()).back();
    graph = build_graph(model_.spec(), model_.weights(), plan, kernels_for(isa),
                        {.outputs = plan.max_rows});
    model_.load(file_, team_, plan.member_shards, [](size_t) {});
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
    std::vector<uint8_t> sampled;
    std::vector<float> logits, maxima;  // shard by shard
    std::vector<ShardLogits> parts;
  };

  std::unique_ptr<Run> start(const std::vector<int32_t>& tokens) {
    auto run = std::make_unique<Run>();
    ContextMemory memory;
    for (size_t bytes : graph.activation_bytes) {
      run->arenas.emplace_back(machine_, 0, bytes, "activations");
      memory.activations.push_back(run->arenas.back().allocate(bytes));
    }
    for (size_t bytes : SyncLayout(graph).bytes) {
      run->arenas.emplace_back(machine_, 0, bytes, "flags");
      memory.sync.push_back(run->arenas.back().allocate(bytes, kLineSpacing));
    }
    const ModelSpec& spec = model_.spec();
    const AxisCuts& kv_heads = model_.axes()[spec.kept(0)->axis].cuts;
    const AxisCuts& vocabulary = model_.axes()[spec.vocabulary_axis].cuts;
    const uint32_t shards = kv_heads.shard_count();
    KvLayer layer{spec.kept(0)->key_length, spec.kept(0)->value_length, {}};
    for (uint32_t s = 0; s < shards; ++s) layer.heads.push_back(kv_heads.shard(s).size());
    KvView kv(KvType::kF32, 2, shards, std::vector<KvLayer>(spec.hyper.layers, layer));
    for (uint32_t s = 0; s < shards; ++s) {
      run->arenas.emplace_back(machine_, 0, kv.shard_bytes(s), "kv");
      kv.set_base(s, run->arenas.back().allocate(kv.shard_bytes(s)));
    }
    run->context = std::make_unique<ExecutionContext>(graph, memory, kv);
    run->tokens = tokens;
    auto n = static_cast<uint32_t>(tokens.size());
    for (uint32_t i = 0; i < n; ++i) {
      run->positions.push_back(i);
      run->items_of_rows.push_back(0);
      run->outputs.push_back(i);
    }
    run->items = {{0, n, 0, run->pages.data()}};
    size_t panels = vocabulary.units();
    run->sampled.assign(n, 1);
    run->logits.assign(n * panels * kPanelRows, -1);
    run->maxima.assign(n * panels, -1);
    for (uint32_t s = 0; s < shards; ++s) {
      UnitRange shard = vocabulary.shard(s);
      size_t before = size_t{n} * shard.begin;
      run->parts.push_back(
          {shard.size(), run->logits.data() + before * kPanelRows, run->maxima.data() + before});
    }
    run->context->begin({run->tokens, run->positions, run->items_of_rows, run->items, run->outputs,
                         n, run->parts, run->sampled});
    return run;
  }

  Graph graph;
  std::unique_ptr<Executor> executor;

 private:
  Machine machine_;
  ModelSource file_;
  Model model_;
  Team team_;
  std::vector<Arena> scratch_;
  std::vector<std::byte*> scratch_bases_;
};

std::vector<int32_t> random_tokens(uint32_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int32_t> tokens(n);
  for (int32_t& t : tokens) t = static_cast<int32_t>(random() % 80);
  return tokens;
}

TEST(ModelWeights, EveryShardHasItsOwnCopyOfVectors) {
  ModelSource file = parse_gguf(tiny_llama(TinyShape{}), "tiny");
  Model model(make_spec(file), Machine::invented(3, 1), even_placement(3));
  Team team(1);
  model.load(file, team, {0}, [](size_t) {});
  const size_t width = model.spec().hyper.width;
  size_t at = 0;  // vectors come first in every arena
  for (uint32_t i = 0; i < model.spec().weights.size(); ++i) {
    const WeightSpec& spec = model.spec().weights[i];
    if (spec.is_matrix()) continue;
    SCOPED_TRACE(spec.name);
    std::vector<float> expected(width);
    const SourceTensor& source = file.require_tensor(spec.name);
    dequantize_row(source.dtype, source.data.data(), width, expected.data());
    const VectorWeight& vector = model.weights().vector({i});
    ASSERT_EQ(vector.copies.size(), 3u);
    for (uint32_t s = 0; s < 3; ++s) {
      EXPECT_EQ(reinterpret_cast<const std::byte*>(vector.copies[s]),
                model.arenas()[s].data() + at);
      EXPECT_EQ(0, std::memcmp(vector.copies[s], expected.data(), width * sizeof(float)));
    }
    at += (width * sizeof(float) + 63) / 64 * 64;
  }
  EXPECT_GT(at, 0u);
  for (uint32_t s = 0; s < 3; ++s) {
    EXPECT_EQ(model.arenas()[s].used(), model.weights().shard_bytes(s));
  }
}

TEST(ModelGraph, ActivationMemoryDoesNotDependOnLayers) {
  for (uint32_t groups : {1u, 2u}) {
    Plan plan = even_plan(Phase::kPrefill, 32, groups, groups, groups);
    Harness shallow(TinyShape{.layers = 3}, plan), deep(TinyShape{.layers = 24}, plan);
    EXPECT_EQ(shallow.graph.activation_bytes, deep.graph.activation_bytes) << groups;
  }
}

// The ops of a layer, each with a barrier: attn_qkv, rope_kv, attention, attn_output, reduce,
// ffn_gate_up, ffn_down, reduce. Groups meet before a reduce. In prefill, where rows are dealt to
// groups, they also meet after it.
TEST(ModelGraph, TwoCrossGroupPointsAReduceInPrefillOneInDecodeAndEightBarriersALayer) {
  constexpr uint32_t kLayers = 3;
  for (auto [shards, groups] : {std::pair{1u, 1u}, {1u, 2u}, {2u, 1u}, {2u, 2u}, {2u, 4u}}) {
    SCOPED_TRACE(std::to_string(shards) + " shards, groups: " + std::to_string(groups));
    for (Phase phase : {Phase::kPrefill, Phase::kDecode}) {
      Harness harness(TinyShape{.layers = kLayers, .heads = 8, .kv_heads = 4},
                      even_plan(phase, 4, shards, groups, 4));
      uint32_t meetings = groups == 1 ? 0 : phase == Phase::kPrefill ? 4 : 2;
      for (int layer = 0; layer < static_cast<int>(kLayers); ++layer) {
        EXPECT_EQ(sync_counts(harness.graph, layer), (SyncCounts{8, meetings})) << layer;
      }
      // The graph has one cross-group point for embedding, angles and first norm together, and none
      // after the logits.
      EXPECT_EQ(sync_counts(harness.graph, -1), (SyncCounts{1, 0}));
      EXPECT_EQ(harness.graph.sync_count, kLayers * meetings);
    }
  }
}

// The ops of a layer with a barrier: attn_down, latent_kv, attn_q, attention, attn_values,
// attn_output, then reduce, ffn_gate_up, ffn_down and reduce, as in other layers.
// (attention_expanded has none.) Every group computes all latents, so groups need not meet for
// latents.
TEST(ModelGraph, TenBarriersALayerWithLatentAttention) {
  constexpr uint32_t kLayers = 2;
  TestModel model(latent_source({.layers = kLayers, .heads = 8}));
  const Kernels& kernels = kernels_for(Isa::kReference);
  for (auto [shards, groups] : {std::pair{1u, 1u}, {1u, 2u}, {2u, 1u}, {2u, 2u}, {2u, 4u}}) {
    SCOPED_TRACE(std::to_string(shards) + " shards, groups: " + std::to_string(groups));
    std::vector<CutAxis> axes = cut_axes(model.spec(), std::vector<uint32_t>(shards, 1));
    WeightTable weights(model.spec(), axes);
    for (Phase phase : {Phase::kPrefill, Phase::kDecode}) {
      Graph graph = build_graph(model.spec(), weights, even_plan(phase, 4, shards, groups, 4),
                                kernels, {.outputs = 4});
      uint32_t meetings = groups == 1 ? 0 : phase == Phase::kPrefill ? 4 : 2;
      for (int layer = 0; layer < static_cast<int>(kLayers); ++layer) {
        EXPECT_EQ(sync_counts(graph, layer), (SyncCounts{10, meetings})) << layer;
      }
    }
  }
}

// Successive reduces have their partial sums in different places. So a group that is ahead can
// write new sums while another group still reads the old ones. This is not needed where groups also
// meet after a reduce.
TEST(ModelGraph, PartialSumsAlternateWhereGroupsMeetOnceAReduce) {
  Harness harness(TinyShape{.layers = 4, .heads = 8, .kv_heads = 4, .ffn = 256},
                  even_plan(Phase::kDecode, 4, 2, 4, 4));
  const Graph& graph = harness.graph;
  struct Place {
    size_t begin, end;
  };
  std::vector<std::vector<Place>> last(4), now(4);  // by group
  uint32_t reduces = 0;
  for (uint32_t n = 0; n < graph.nodes.size(); ++n) {
    if (graph.nodes[n].mode == Mode::kReduce) {
      ++reduces;
      for (uint32_t g = 0; g < 4; ++g) {
        ASSERT_FALSE(now[g].empty());
        for (const Place& a : now[g]) {
          for (const Place& b : last[g]) EXPECT_TRUE(a.end <= b.begin || b.end <= a.begin);
        }
      }
      last = std::exchange(now, std::vector<std::vector<Place>>(4));
    }
    if (graph.nodes[n].name != "attn_output" && graph.nodes[n].name != "ffn_down") continue;
    for (ValueId id = 0; id < graph.values.size(); ++id) {
      const Value& value = graph.values[id];
      if (value.first_use != n) continue;
      size_t at = graph.places[id].offset[static_cast<size_t>(ActFormat::kF32)];
      now[value.group].push_back(
          {at, at + act_bytes(ActFormat::kF32, graph.rows_capacity(value.rows), value.width)});
    }
  }
  EXPECT_EQ(reduces, 8u);
}

// Every barrier in lockstep is one of all groups, and no group posts a flag.
TEST(ModelGraph, EveryLockstepBarrierIsAMeeting) {
  for (uint32_t groups : {1u, 2u, 4u}) {
    Plan plan = even_plan(Phase::kDecode, 4, 2, groups, 4);
    plan.sync = GroupSync::kLockstep;
    Harness harness(TinyShape{.layers = 2, .heads = 8, .kv_heads = 4}, plan);
    EXPECT_EQ(sync_counts(harness.graph, 0), (SyncCounts{8, groups > 1 ? 8u : 0u}));
    EXPECT_EQ(harness.graph.sync_count, 0u);
  }
}

TEST(ModelGraph, TwoContextsInterleaveOverTwoNodesAndGroups) {
  for (auto [shards, sync] :
       {std::pair{1u, GroupSync::kAsync}, {2u, GroupSync::kAsync}, {2u, GroupSync::kLockstep}}) {
    Plan plan = even_plan(Phase::kPrefill, 100, shards, 2, 4);
    plan.sync = sync;
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
    EXPECT_EQ(a->maxima, alone_a->maxima);
    EXPECT_EQ(b->maxima, alone_b->maxima);
  }
}

}  // namespace
}  // namespace hearth
