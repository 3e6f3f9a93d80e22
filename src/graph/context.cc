#include "graph/context.h"

#include "base/check.h"

namespace hearth {

ExecutionContext::ExecutionContext(const Graph& graph, const std::vector<std::byte*>& bases,
                                   const KvView& kv)
    : graph_(&graph),
      kv_(kv),
      buffers_(graph.values.size()),
      counters_(std::make_unique<ChunkCounter[]>(graph.counter_count)) {
  uint32_t groups = graph.plan.group_count();
  HEARTH_CHECK(bases.size() == groups, "activation memory for every group");
  for (ValueId id = 0; id < graph.values.size(); ++id) {
    const Value& value = graph.values[id];
    for (size_t f = 0; f < kActFormats; ++f) {
      if (!(value.formats >> f & 1)) continue;
      buffers_[id][f] =
          act_buffer(static_cast<ActFormat>(f), bases[value.group] + graph.places[id].offset[f],
                     graph.rows_capacity(value.rows), value.width);
    }
  }
  if (graph.plan.sync == GroupSync::kLockstep) {
    groups_.emplace_back(0, graph.plan.member_count());
  } else {
    for (const PlanGroup& group : graph.plan.groups) {
      groups_.emplace_back(group.member_begin, group.member_end);
    }
  }
  for (uint32_t i = 0; i < groups * groups; ++i) flags_.push_back(std::make_unique<Flag>());
}

void ExecutionContext::begin(const StepView& step) {
  HEARTH_CHECK(step.rows() > 0 && step.rows() <= graph_->plan.max_rows, "a step fits its graph");
  HEARTH_CHECK(step.outputs.size() <= graph_->max_outputs, "a step's outputs fit its graph");
  step_ = step;
  ++run_;
}

}  // namespace hearth
