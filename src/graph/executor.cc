#include "graph/executor.h"

#include "base/check.h"

namespace hearth {
namespace {

// Tells the groups that wait for this group that it has reached the cross-group point, and waits
// for the groups whose values it reads. The group's own barrier before the node ensures that its
// earlier work is complete.
void meet(ExecutionContext& context, Sync sync, uint32_t index, const Worker& worker) noexcept {
  uint32_t groups = context.graph().plan.group_count();
  uint32_t epoch = context.sync_base() + index;
  uint32_t me = worker.group;
  bool posts = sync == Sync::kAllToAll || (sync == Sync::kFromSerial) == (me == 0);
  bool waits = sync == Sync::kAllToAll || (sync == Sync::kFromSerial) == (me != 0);
  if (posts && worker.index == 0) {
    Flag::post_all(
        sync == Sync::kToSerial ? context.flags_posted_serial(me) : context.flags_posted(me),
        epoch);
  }
  if (waits) {
    for (uint32_t shift = 1; shift < groups; ++shift) {
      uint32_t from = (me + shift) % groups;
      if (sync == Sync::kFromSerial && from != 0) continue;
      context.flag_from(from, worker.place).wait_at_least(epoch);
    }
  }
}

// Returns the first node after node n's layer; at most `end`.
uint32_t next_layer(const std::vector<GraphNode>& nodes, uint32_t n, uint32_t end) {
  uint32_t next = n + 1;
  while (next < end && nodes[next].layer == nodes[n].layer) ++next;
  return next;
}

}  // namespace

Executor::Executor(Team& team, const Plan& plan, std::vector<std::byte*> scratch)
    : team_(team), workers_(plan.member_count()), members_(plan.working_members()) {
  HEARTH_CHECK(plan.member_count() <= team.size() && scratch.size() >= plan.member_count(),
               "a thread and scratch for every member of the plan");
  uint32_t place = 0;
  for (uint32_t g = 0; g < plan.group_count(); ++g) {
    const PlanGroup& group = plan.groups[g];
    for (uint32_t i = 0; i < group.size(); ++i, ++place) {
      const uint32_t m = group.members[i];
      workers_[m] = {g, i, m, place, group.size(), scratch[m]};
    }
  }
}

bool Executor::run(const RunContexts& contexts, const Abandon* abandon) {
  auto end = static_cast<uint32_t>(contexts.of(0).graph().nodes.size());
  return run_nodes(contexts, 0, end, abandon);
}

void Executor::run_range(const RunContexts& contexts, uint32_t begin, uint32_t end) {
  run_nodes(contexts, begin, end, nullptr);
}

bool Executor::run_nodes(const RunContexts& contexts, uint32_t begin, uint32_t end,
                         const Abandon* abandon) {
  Run run{contexts, begin, end, abandon, end};
  if (profile_) profile_->begin_run(contexts.of(0), begin);
  team_.run_on(members_, [&](uint32_t member) noexcept { run_member(run, member); });
  if (profile_) profile_->end_run(contexts.of(0));
  return run.stop_at.load(std::memory_order_relaxed) == end;
}

// Runs one member through its nodes. One thread decides for all whether the run is abandoned: at
// the first node of a layer it sets stop_at to the first node of the next layer. No member can have
// reached that node yet, and all see stop_at in time: within a layer every member meets that
// thread, in its group's barriers and at the reduces.
void Executor::run_member(Run& run, uint32_t member) noexcept {
  const Worker worker = workers_[member];
  ExecutionContext& context = run.contexts.of(worker.group);
  const std::vector<GraphNode>& nodes = context.graph().nodes;
  bool lockstep = context.graph().plan.sync == GroupSync::kLockstep;
  const uint32_t begin = run.begin, end = run.end;
  ProfileLaps laps = profile_ ? profile_->laps(member) : ProfileLaps();
  bool decides = run.abandon != nullptr && worker.group == 0 && worker.index == 0;
  for (uint32_t n = begin; n < end; ++n) {
    const GraphNode& node = nodes[n];
    if (n > begin && node.layer != nodes[n - 1].layer) {
      if (n >= run.stop_at.load(std::memory_order_relaxed)) return;
      if (decides && run.stop_at.load(std::memory_order_relaxed) == end && (*run.abandon)()) {
        run.stop_at.store(next_layer(nodes, n, end), std::memory_order_relaxed);
      }
    }
    if (node.sync != Sync::kNone) {
      meet(context, node.sync, node.sync_index, worker);
      laps.met(n);
    }
    bool serial = node.instances.size() == 1, works = !serial || worker.group == 0;
    if (works) {
      uint32_t instance = serial ? 0 : worker.group;
      node.instances[instance]->run(context, node.op_sync[instance], worker);
      laps.worked(n);
    }
    if (node.barrier_after && (works || lockstep)) {
      context.sync(worker);
      laps.waited(n);
    }
    if (node.meets_after) {
      meet(context, Sync::kAllToAll, node.sync_index + 1, worker);
      laps.met(n);
    }
  }
}

}  // namespace hearth
