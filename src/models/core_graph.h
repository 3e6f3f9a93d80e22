// A model's graph for the cores: the walk over its blocks, each as the ops of graph/ops. It is made
// once for every phase's plan.
#pragma once

#include "graph/builder.h"
#include "models/model_spec.h"
#include "models/weight_table.h"

namespace hearth {

// Limits of a graph's steps besides the plan's rows: output rows; items, which matter only where
// keys and values are kept for the step alone; and the positions of a sequence.
struct GraphLimits {
  uint32_t outputs = 1, items = 1;
  uint32_t context = 0;
};

// Makes the graph of a model under a plan. It reads the weights when it runs, so they may be packed
// later; the table outlives the graph. The schedules are on the menus of the kernels.
Graph build_graph(const ModelSpec& spec, const WeightTable& weights, const Plan& plan,
                  const Kernels& kernels, const GraphLimits& limits,
                  const ScheduleTable& schedules = {});

}  // namespace hearth
