// Makes a model's graph for the cores: it walks over the blocks and appends each one as ops of
// graph/ops. Every phase's plan has a graph.
#pragma once

#include "graph/builder.h"
#include "models/model_spec.h"
#include "models/weight_table.h"

namespace hearth {

// Limits of a graph's steps besides the plan's rows: output rows; items, which matter only if keys
// and values are not kept after the step; and the positions of a sequence.
struct GraphLimits {
  uint32_t outputs = 1, items = 1;
  uint32_t context = 0;
};

// Makes the graph of a model under a plan. The graph reads the weights when it runs, so they may be
// packed later. The weight table must outlive the graph. The schedules must be on the kernels'
// menus.
Graph build_graph(const ModelSpec& spec, const WeightTable& weights, const Plan& plan,
                  const Kernels& kernels, const GraphLimits& limits,
                  const ScheduleTable& schedules = {});

}  // namespace hearth
