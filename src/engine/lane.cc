#include "engine/lane.h"

#include <exception>

namespace hearth {

Lane::Lane(std::unique_ptr<Team> team, std::shared_ptr<const Model> model, Isa isa,
           const LanePlans& plans, const LaneMemory& memory, const KvView& kv)
    : team_(std::move(team)), model_(std::move(model)), isa_(isa), kv_(kv) {
  set_plans(plans, memory);
}

void Lane::set_plans(const LanePlans& plans, const LaneMemory& memory) {
  PhaseRun prefill = start(plans.prefill, plans, memory.prefill, memory.scratch);
  PhaseRun decode = start(plans.decode, plans, memory.decode, memory.scratch);
  prefill_ = std::move(prefill);
  decode_ = std::move(decode);
  set_profiling(profiling_);
}

// Lets one thread of the team make an object. The heap that it allocates from is its own, so the
// whole object lies on its node.
template <typename Make>
void Lane::on_member(uint32_t member, const Make& make) {
  std::exception_ptr error;
  team_->run_on({&member, 1}, [&](uint32_t) noexcept {
    try {
      make();
    } catch (...) {
      error = std::current_exception();
    }
  });
  if (error) std::rethrow_exception(error);
}

Lane::PhaseRun Lane::start(const Plan& plan, const LanePlans& plans, const ContextMemory& memory,
                           const std::vector<std::byte*>& scratch) {
  PhaseRun phase;
  phase.executor = std::make_unique<Executor>(*team_, plan, scratch);
  phase.members = plan.working_members();
  for (const PlanGroup& group : plan.groups) {
    std::unique_ptr<GroupCopy>& copy = phase.copies.emplace_back();
    on_member(group.members[0], [&] {
      copy = std::make_unique<GroupCopy>();
      copy->weights = std::make_unique<WeightTable>(model_->weights());
      copy->graph = build_graph(model_->spec(), *copy->weights, plan, kernels_for(isa_),
                                plans.limits, plans.schedules);
      copy->context = std::make_unique<ExecutionContext>(copy->graph, memory, kv_);
    });
    phase.contexts.push_back(copy->context.get());
  }
  return phase;
}

bool Lane::run(const StepView& step, const Executor::Abandon* abandon) {
  const Graph& small = graph(Phase::kDecode);
  bool few = step.rows() <= small.plan.max_rows && step.outputs.size() <= small.max_outputs;
  const PhaseRun& phase = few ? decode_ : prefill_;
  last_ = &phase;
  for (ExecutionContext* context : phase.contexts) context->begin(step);
  const bool complete = phase.executor->run(RunContexts(phase.contexts), abandon);
  // The other weights were checked when they were loaded.
  if (const auto& rows = model_->weights().token_rows()) rows->require_whole();
  return complete;
}

void Lane::run_head(const StepView& step) {
  const PhaseRun& phase = *last_;
  for (ExecutionContext* context : phase.contexts) context->begin(step);
  const auto nodes = static_cast<uint32_t>(phase.copies[0]->graph.nodes.size());
  phase.executor->run_range(RunContexts(phase.contexts), nodes - 1, nodes);
}

void Lane::set_profiling(bool on) {
  profiling_ = on;
  for (PhaseRun* phase : {&prefill_, &decode_}) {
    if (on) phase->profile = std::make_unique<Profile>(phase->copies[0]->graph);
    phase->executor->set_profile(on ? phase->profile.get() : nullptr);
  }
}

ProfileSummary Lane::profile(Phase phase) const {
  const PhaseRun& run = phase_of(phase);
  return run.profile ? run.profile->summary() : ProfileSummary();
}

}  // namespace hearth
