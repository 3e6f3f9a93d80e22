// The executor: every member of the team runs the nodes of its group in order. Groups meet only
// where a node's mode says so (bundle.h); between such points each group runs by itself (ArcLight's
// asynchronous subgraphs, section 3.4), with its own barrier.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "graph/context.h"
#include "graph/graph.h"
#include "threads/team.h"

namespace hearth {

class Executor {
 public:
  // The team must have at least the members that `plan` names; `scratch[m]` is kOpScratchBytes of
  // member m, on its node.
  Executor(Team& team, const Plan& plan, std::vector<std::byte*> scratch);

  // Runs the whole graph over the step that context.begin() was given. Returns when all groups are
  // done.
  void run(ExecutionContext& context);

  // Runs nodes [begin, end) only: a run may be interrupted between nodes, and another context's
  // nodes run in between.
  void run_range(ExecutionContext& context, uint32_t begin, uint32_t end);

 private:
  void run_member(ExecutionContext& context, uint32_t begin, uint32_t end,
                  uint32_t member) noexcept;

  Team& team_;
  std::vector<Worker> workers_;
  std::vector<std::vector<uint32_t>> shard_order_;
};

}  // namespace hearth
