// Lane: a team of threads at work on a model: for each phase a plan, the graphs and contexts of its
// groups, and an executor. Several lanes may share one model and run at the same time; one lane
// runs one step at a time. Used by the thread that is member 0 of the team.
#pragma once

#include <memory>
#include <vector>

#include "graph/executor.h"
#include "graph/profile.h"
#include "models/core_graph.h"
#include "models/model.h"
#include "threads/team.h"
#include "topology/cpu_features.h"

namespace hearth {

struct LanePlans {
  Plan prefill, decode;
  GraphLimits limits;  // the limits of both phases' graphs
  ScheduleTable schedules;
};

// The memory that a lane works in; it must outlive the lane. The phases never run at the same time,
// so their activations may share memory. The words that threads wait on may not share memory.
struct LaneMemory {
  std::vector<std::byte*> scratch;  // each member's kOpScratchBytes, on its node
  ContextMemory prefill, decode;
};

class Lane {
 public:
  Lane(std::unique_ptr<Team> team, std::shared_ptr<const Model> model, Isa isa,
       const LanePlans& plans, const LaneMemory& memory, const KvView& kv);

  // Changes to other plans, over the same keys and values. `memory` must be large enough for the
  // new plans. Graphs are built anew, so references to the old ones end. The old memory is free
  // after the call.
  void set_plans(const LanePlans& plans, const LaneMemory& memory);

  Team& team() { return *team_; }
  const Team& team() const { return *team_; }
  const Model& model() const { return *model_; }
  const Graph& graph(Phase phase) const { return phase_of(phase).copies[0]->graph; }

  // Runs the step under the decode plan, or under the prefill plan if it has more rows or outputs
  // than the decode plan takes. Returns false if `abandon` ended it at a layer. Throws Error
  // (kFile) if weights that stay in the model's file have changed since it was loaded.
  bool run(const StepView& step, const Executor::Abandon* abandon = nullptr);

  // Runs only the LM head, over outputs [first_logit, first_logit + logit_rows) of the step that
  // ran last, whose activations are still in memory.
  void run_head(const StepView& step);
  // Calls job(member) on every thread that worked on the last step.
  template <typename Job>
  void on_workers(Job&& job) {
    team_->run_on(last_->members, job);
  }

  // Turns profiling on or off. While it is on, every step is timed; sums begin at zero
  // (graph/profile.h).
  void set_profiling(bool on);
  // Returns the sums over the steps timed so far on this phase's graph; empty without profiling.
  ProfileSummary profile(Phase phase) const;

 private:
  // The data that only a group's threads read, besides packed weights and activations.
  struct GroupCopy {
    std::unique_ptr<WeightTable> weights;
    Graph graph;
    std::unique_ptr<ExecutionContext> context;
  };
  struct PhaseRun {
    std::unique_ptr<Executor> executor;
    std::vector<std::unique_ptr<GroupCopy>> copies;
    std::vector<ExecutionContext*> contexts;  // one for each group
    std::vector<uint32_t> members;            // the members that work
    std::unique_ptr<Profile> profile;
  };

  const PhaseRun& phase_of(Phase phase) const {
    return phase == Phase::kPrefill ? prefill_ : decode_;
  }
  PhaseRun start(const Plan& plan, const LanePlans& plans, const ContextMemory& memory,
                 const std::vector<std::byte*>& scratch);
  template <typename Make>
  void on_member(uint32_t member, const Make& make);

  std::unique_ptr<Team> team_;
  std::shared_ptr<const Model> model_;
  Isa isa_;
  KvView kv_;
  bool profiling_ = false;
  PhaseRun prefill_, decode_;
  const PhaseRun* last_ = nullptr;  // the phase of the last step
};

}  // namespace hearth
