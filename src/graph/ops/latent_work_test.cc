// Tests the work that the ops of latent attention report, for absorbed and expanded rows. It is
// compared with a count pair by pair.
#include <gtest/gtest.h>

#include "graph/ops/latent.h"
#include "graph/step_view.h"

namespace hearth {
namespace {

constexpr uint32_t kHeads = 6, kWidth = 64, kMaxRows = 300;
constexpr LatentShape kShape{.layer = 0,
                             .kv_lora_rank = 48,
                             .rope_length = 16,
                             .nope_length = 32,
                             .value_length = 32,
                             .scale = 1,
                             .rope = RopeLayout::kInterleaved,
                             .latent_norm = {}};

// Asks for a graph's work in a step that is not run, so nothing needs memory.
struct Asked {
  explicit Asked(const Plan& plan)
      : cuts(kHeads, 1, std::vector<uint32_t>(plan.shard_count(), 1)),
        query(rows(kShape.query_length(), kWidth)),
        key(rows(kShape.kv_lora_rank, kShape.nope_length)),
        value(rows(kShape.value_length, kShape.kv_lora_rank)),
        output(cut_weight("o", DType::kF32, kWidth, kHeads * kShape.value_length, CutBy::kColumns,
                          cuts, kShape.value_length)) {
    GraphBuilder builder(plan, kernels_for(Isa::kReference), kMaxRows);
    auto input = [&](uint32_t width) {
      Bundle x =
          builder.add_values(RowSet::kTokens, std::vector<uint32_t>(builder.group_count(), width));
      builder.writes(x);
      return x;
    };
    const LatentMatrices matrices{query, key, value, output};
    const Bundle x = input(kWidth), angles = input(kShape.rope_length);
    Bundle queries = latent_queries(builder, "queries", x, angles, kShape, matrices);
    latent_expanded_attention(builder, "expanded", queries, kShape, matrices);
    builder.no_barrier();
    Bundle mixes = latent_attention(builder, "absorbed", queries, kShape, matrices);
    latent_values(builder, "values", mixes, queries, kShape, matrices);
    graph = std::make_unique<Graph>(std::move(builder).finish());
  }

  OpWork work(const std::vector<StepItem>& items, const std::string& name) const {
    uint32_t rows = 0;
    for (const StepItem& item : items) rows += item.rows;
    OpWork sum;
    for (const GraphNode& node : graph->nodes) {
      if (node.name != name) continue;
      for (const auto& op : node.instances) {
        sum += op->load({.graph = *graph,
                         .items = items,
                         .rows = rows,
                         .outputs = 1,
                         .logit_rows = 1,
                         .kv_type = KvType::kF16,
                         .units = units_of(graph->kernels.limits)})
                   .total();
      }
    }
    return sum;
  }

  Weight rows(uint32_t of_head, uint32_t k) const {
    return cut_weight("w", DType::kF32, kHeads * of_head, k, CutBy::kRows, cuts, of_head);
  }

  AxisCuts cuts;
  Weight query, key, value, output;
  std::unique_ptr<Graph> graph;
};

uint64_t bytes_of(const Weight& weight) {
  uint64_t bytes = 0;
  for (const Shard& shard : weight.shards) bytes += shard.spec.codes_bytes();
  return bytes;
}

// Every group reads its copy of the latents, on each of its shards.
TEST(LatentWork, BothFormsCountVisiblePairs) {
  const std::vector<std::vector<StepItem>> steps = {{{0, 20, 0, nullptr, 0}},
                                                    {{0, 20, 0, nullptr, 20}},
                                                    {{0, 40, 500, nullptr, 30}},
                                                    {{0, 7, 90, nullptr, 7}, {7, 1, 9, nullptr}},
                                                    {{0, 300, 700, nullptr, 299}}};
  for (auto [shards, groups] : {std::pair{1u, 1u}, {2u, 2u}, {1u, 2u}, {2u, 1u}}) {
    const Asked asked(even_plan(Phase::kPrefill, kMaxRows, shards, groups, groups));
    for (const std::vector<StepItem>& items : steps) {
      SCOPED_TRACE(std::to_string(shards) + " shards, rows: " + std::to_string(items[0].rows));
      uint64_t rows[2] = {}, pairs[2] = {}, positions[2] = {};  // absorbed, expanded
      for (const StepItem& item : items) {
        for (uint32_t r = 0; r < item.rows; ++r) {
          ++rows[r < item.expanded];
          pairs[r < item.expanded] += item.first_position + r + 1;
        }
        if (item.expanded > 0) positions[1] += item.first_position + item.expanded;
        if (item.expanded < item.rows) positions[0] += item.first_position + item.rows;
      }
      constexpr uint64_t kPosition = 64 * sizeof(uint16_t);  // of latents
      const uint64_t copies = std::max(shards, groups);
      auto expect = [&](const char* name, uint64_t operations, uint64_t bytes) {
        const OpWork work = asked.work(items, name);
        EXPECT_EQ(work.of(ArithmeticUnit::kF32Fma), 2 * kHeads * operations) << name;
        EXPECT_EQ(work.bytes, bytes) << name;
      };
      const uint64_t key = bytes_of(asked.key), value = bytes_of(asked.value);
      expect("queries", (rows[0] + rows[1]) * 48 * kWidth + rows[0] * 32 * 48,
             bytes_of(asked.query) + (rows[0] > 0 ? key : 0));
      expect("expanded", pairs[1] * (32 + 16 + 32) + positions[1] * 48 * (32 + 32),
             (rows[1] > 0 ? key + value : 0) + positions[1] * kPosition * copies);
      expect("absorbed", pairs[0] * (48 + 16 + 48), positions[0] * kPosition * copies);
      expect("values", rows[0] * 48 * 32, rows[0] > 0 ? value : 0);
    }
  }
}

}  // namespace
}  // namespace hearth
