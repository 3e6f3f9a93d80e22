#include "bench/work.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "graph/op_work.h"
#include "graph/step_view.h"

namespace hearth {
namespace {

// The work of all nodes in a step. It has `rows` tokens of each of `sequences` sequences that
// already hold `depth` positions. The first `expanded` rows of a sequence are expanded.
struct StepWork {
  double source_bytes = 0;
  uint64_t kv_bytes = 0;
  UnitOps gemm_ops{};
  double attention_ops = 0;
};

StepWork count_step(const WorkGraph& model, const BenchCase& what, uint32_t rows,
                    uint32_t logit_rows, uint32_t expanded = 0) {
  std::vector<StepItem> items;
  for (uint32_t s = 0; s < what.sequences; ++s) {
    items.push_back({s * rows, rows, what.depth, {}, expanded});
  }
  StepSizes step{.graph = model.graph,
                 .items = items,
                 .rows = rows * what.sequences,
                 .outputs = logit_rows,
                 .logit_rows = logit_rows,
                 .kv_type = model.kv_type,
                 .units = model.units};
  StepWork work;
  for (const GraphNode& node : model.graph.nodes) {
    for (const auto& op : node.instances) {
      OpLoad load = op->load(step);
      work.source_bytes += load.source_bytes;
      for (const OpLoad::Reads& reads : load.reads) work.kv_bytes += reads.kv;
      if (load.attention_operations > 0) {
        work.attention_ops += static_cast<double>(load.attention_operations);
        continue;
      }
      for (size_t u = 0; u < kArithmeticUnits; ++u) {
        work.gemm_ops[u] += static_cast<double>(load.operations[u]);
      }
    }
  }
  return work;
}

// The operations of a prompt's chunks.
StepWork count_chunks(const WorkGraph& model, const BenchCase& what) {
  const uint32_t end = what.depth + what.tokens;
  const uint32_t expanded = model.expand.positions(end + model.expand.tail);
  StepWork all;
  BenchCase at = what;
  for (; at.depth < end; at.depth += model.step_rows) {
    const uint32_t rows = std::min(model.step_rows, end - at.depth);
    const StepWork step = count_step(model, at, rows, at.depth + rows == end ? 1 : 0,
                                     expanded_part(expanded, at.depth, rows));
    for (size_t u = 0; u < kArithmeticUnits; ++u) all.gemm_ops[u] += step.gemm_ops[u];
    all.attention_ops += step.attention_ops;
  }
  return all;
}

}  // namespace

std::vector<BenchCase> bench_cases(const BenchLists& lists) {
  std::vector<BenchCase> cases;
  for (uint32_t depth : lists.depths) {
    for (uint32_t tokens : lists.prefill) {
      if (tokens > 0) cases.push_back({Phase::kPrefill, tokens, 1, depth});
    }
    for (uint32_t tokens : lists.decode) {
      for (uint32_t sequences : lists.sequences) {
        if (tokens > 0) cases.push_back({Phase::kDecode, tokens, sequences, depth});
      }
    }
  }
  return cases;
}

std::string case_text(const BenchCase& what) {
  std::string text = fmt::format("{} {}", phase_name(what.phase), what.tokens);
  if (what.sequences > 1) text += fmt::format(" x {} sequences", what.sequences);
  if (what.depth > 0) text += fmt::format(" at depth {}", what.depth);
  return text;
}

ArithmeticUnit WorkGraph::unit() const {
  UnitOps ops = count_step(*this, {}, 1, 1).gemm_ops;
  return static_cast<ArithmeticUnit>(std::max_element(ops.begin(), ops.end()) - ops.begin());
}

double CaseWork::ops() const {
  return std::accumulate(gemm_ops.begin(), gemm_ops.end(), attention_ops);
}

CaseWork count_case(const WorkGraph& model, const BenchCase& what) {
  CaseWork work;
  bool decode = what.phase == Phase::kDecode;
  // Operations of a prompt are the sum of those of its rows, however the rows are cut into steps.
  // Only keys and values made of latents depend on the steps, so models with latents are counted
  // chunk by chunk.
  StepWork all =
      !decode && model.expand.step > 0
          ? count_chunks(model, what)
          : count_step(model, what, what.tokens, what.sequences * (decode ? what.tokens : 1));
  work.gemm_ops = all.gemm_ops;
  work.attention_ops = all.attention_ops;
  work.attention_unit = arithmetic_unit_for(model.kv_type, model.units);
  if (!decode || what.tokens == 0) return work;
  work.steps = what.tokens;
  work.weight_bytes =
      static_cast<uint64_t>(std::llround(count_step(model, what, 1, what.sequences).source_bytes));
  BenchCase at = what;
  for (uint32_t step = 0; step < what.tokens; ++step, ++at.depth) {
    work.kv_bytes += count_step(model, at, 1, what.sequences).kv_bytes;
  }
  work.kv_bytes /= what.tokens;
  return work;
}

}  // namespace hearth
