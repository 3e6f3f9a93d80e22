#include "graph/profile.h"

#include <algorithm>
#include <map>

#include "base/check.h"

namespace hearth {
namespace {

constexpr double kNanosecond = 1e-9;

ProfileTimes& operator+=(ProfileTimes& times, const ProfileTimes& other) {
  times.meet += other.meet;
  times.work += other.work;
  times.barrier += other.barrier;
  return times;
}

ProfileTimes times_of(const ProfileRecord& record) {
  return {static_cast<double>(record.meet) * kNanosecond,
          static_cast<double>(record.work) * kNanosecond,
          static_cast<double>(record.barrier) * kNanosecond};
}

// Returns the nodes of each name, in the order in which the names first come.
std::vector<std::vector<uint32_t>> nodes_by_name(const Graph& graph) {
  std::vector<std::vector<uint32_t>> nodes;
  std::map<std::string, size_t> rows;
  for (uint32_t n = 0; n < graph.nodes.size(); ++n) {
    auto [row, is_new] = rows.emplace(graph.nodes[n].name, nodes.size());
    if (is_new) nodes.emplace_back();
    nodes[row->second].push_back(n);
  }
  return nodes;
}

}  // namespace

Profile::Profile(const Graph& graph)
    : graph_(graph), records_(first_record(graph.plan.member_count())), work_(graph.nodes.size()) {}

void Profile::begin_run(const ExecutionContext& context, uint32_t begin) {
  HEARTH_CHECK(&context.graph() == &graph_, "a profile notes runs of its own graph");
  if (begin == 0) {
    ++runs_;
    tokens_ += context.step().rows();
  }
  start_ = ProfileLaps::Clock::now();
}

// Counts only the work of nodes that have run, since a run may have ended before its last node.
// Group 0 works on every node, serial or not, so its first member's calls tell which nodes have
// run.
void Profile::end_run(const ExecutionContext& context) {
  wall_ += ProfileLaps::Clock::now() - start_;
  const uint32_t first = graph_.plan.groups[0].members[0];
  for (uint32_t n = 0; n < work_.size(); ++n) {
    uint64_t calls = record(first, n).calls;
    if (calls == work_[n].calls) continue;
    work_[n].calls = calls;
    for (const std::unique_ptr<Op>& op : graph_.nodes[n].instances) {
      work_[n].work += op->load(context.sizes()).total();
    }
  }
}

ProfileSummary Profile::summary() const {
  ProfileSummary summary;
  summary.runs = runs_;
  summary.tokens = tokens_;
  summary.threads = graph_.plan.worker_count();
  summary.seconds = std::chrono::duration<double>(wall_).count();
  summary.by_threads.resize(graph_.plan.member_count());
  for (const std::vector<uint32_t>& nodes : nodes_by_name(graph_)) {
    ProfileRow row;
    row.name = graph_.nodes[nodes[0]].name;
    for (uint32_t n : nodes) {
      row.calls += work_[n].calls;
      row.work += work_[n].work;
    }
    for (uint32_t member = 0; member < graph_.plan.member_count(); ++member) {
      ProfileTimes times;
      for (uint32_t n : nodes) times += times_of(record(member, n));
      summary.by_threads[member] += times;
      row.mean += times;
      row.most = {std::max(row.most.meet, times.meet), std::max(row.most.work, times.work),
                  std::max(row.most.barrier, times.barrier)};
    }
    row.mean.meet /= summary.threads;
    row.mean.work /= summary.threads;
    row.mean.barrier /= summary.threads;
    summary.rows.push_back(std::move(row));
  }
  return summary;
}

}  // namespace hearth
