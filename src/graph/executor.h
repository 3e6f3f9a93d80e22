// The executor lets every member of a plan's groups run the nodes of its group in order; the team's
// other members rest. Groups meet only where a node's mode says so (bundle.h); between such points
// each group runs by itself (ArcLight's asynchronous subgraphs, section 3.4), with its own barrier.
// In a plan in lockstep all groups wait at one barrier after every node instead, even if only group
// 0 worked on the node.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "graph/context.h"
#include "graph/graph.h"
#include "graph/profile.h"
#include "threads/team.h"

namespace hearth {

class Executor {
 public:
  // The team must have at least the members that `plan` names; `scratch[m]` is kOpScratchBytes of
  // member m, on its node.
  Executor(Team& team, const Plan& plan, std::vector<std::byte*> scratch);

  // Returns true if the run shall end before the next layer. One thread calls it at every layer,
  // and it must not throw.
  using Abandon = std::function<bool()>;

  // Runs the whole graph over the step that begin() was given. Returns when all groups are done:
  // true, or false if `abandon` ended the run at a layer. The step's results are then undefined.
  bool run(const RunContexts& contexts, const Abandon* abandon = nullptr);

  // Runs nodes [begin, end) only. So a caller may stop between two nodes, and run nodes of another
  // context in between.
  void run_range(const RunContexts& contexts, uint32_t begin, uint32_t end);

  // Sets the profile that later runs add their times to. It must be of the same graph; null, the
  // default, notes nothing.
  void set_profile(Profile* profile) { profile_ = profile; }

 private:
  struct Run {
    RunContexts contexts;
    uint32_t begin, end;
    const Abandon* abandon;
    std::atomic<uint32_t> stop_at;  // the node before which all members stop
  };

  bool run_nodes(const RunContexts& contexts, uint32_t begin, uint32_t end, const Abandon* abandon);
  void run_member(Run& run, uint32_t member) noexcept;

  Team& team_;
  std::vector<Worker> workers_;    // by member; empty for members that rest
  std::vector<uint32_t> members_;  // members of the team that work
  Profile* profile_ = nullptr;
};

}  // namespace hearth
