#include "graph/builder.h"

#include <algorithm>

#include "base/check.h"
#include "memory/activation_plan.h"

namespace hearth {

GraphBuilder::GraphBuilder(const Plan& plan, const Kernels& kernels, uint32_t max_outputs,
                           uint32_t max_items) {
  graph_.plan = plan;
  graph_.kernels = kernels;
  graph_.max_outputs = max_outputs;
  graph_.max_items = max_items;
}

Bundle GraphBuilder::add_values(RowSet rows, const std::vector<uint32_t>& widths, bool parallel) {
  HEARTH_CHECK(widths.size() == (parallel ? group_count() : 1), "a width per group");
  Bundle bundle;
  bundle.parallel = parallel;
  for (uint32_t g = 0; g < widths.size(); ++g) {
    bundle.values.push_back(add_value(rows, widths[g], g));
  }
  return bundle;
}

ValueId GraphBuilder::add_value(RowSet rows, uint32_t width, uint32_t group) {
  HEARTH_CHECK(rows != RowSet::kPages || graph_.max_items > 0,
               "pages are of a known number of items");
  Value value;
  value.group = group;
  value.width = width;
  value.rows = rows;
  graph_.values.push_back(value);
  return static_cast<ValueId>(graph_.values.size() - 1);
}

void GraphBuilder::reads(const Bundle& bundle, ActFormat format, Reads whose) {
  for (ValueId id : bundle.values) {
    graph_.values[id].formats |= static_cast<uint8_t>(1u << static_cast<unsigned>(format));
    pending_reads_.push_back({id, whose});
  }
}

void GraphBuilder::writes(const Bundle& bundle) {
  pending_writes_.insert(pending_writes_.end(), bundle.values.begin(), bundle.values.end());
}

void GraphBuilder::append(Mode mode, std::string name, std::vector<std::unique_ptr<Op>> instances) {
  bool one = mode == Mode::kSerial || mode == Mode::kGather;
  HEARTH_CHECK(instances.size() == (one ? 1 : group_count()), "an instance per group at work");
  uint32_t index = next_node();
  GraphNode node{std::move(name),      layer_, mode, Sync::kNone, 0, true, false,
                 std::move(instances), {}};
  if (group_count() > 1 && graph_.plan.sync == GroupSync::kAsync) {
    if (mode == Mode::kScatter) node.sync = Sync::kFromSerial;
    if (mode == Mode::kGather) node.sync = Sync::kToSerial;
    if (mode == Mode::kReduce) node.sync = Sync::kAllToAll;
  }
  if (node.sync != Sync::kNone) {
    node.sync_index = ++graph_.sync_count;
    HEARTH_CHECK(index == 0 || graph_.nodes.back().barrier_after,
                 "a group is done when it meets others");
  }
  if (node.sync == Sync::kAllToAll) extend_cross_reads(index);
  for (const std::unique_ptr<Op>& op : node.instances) {
    node.op_sync.push_back({graph_.counter_count, graph_.flag_count});
    graph_.counter_count += op->counters();
    graph_.flag_count += op->flags();
  }
  for (ValueId id : pending_writes_) {
    graph_.values[id].first_use = index;
    graph_.values[id].last_use = std::max(graph_.values[id].last_use, index);
  }
  bool crosses = node.sync != Sync::kNone;
  for (const Read& read : pending_reads_) {
    graph_.values[read.value].last_use = index;
    if (crosses && read.whose == Reads::kAsMode) cross_read_.push_back(read.value);
  }
  pending_writes_.clear();
  pending_reads_.clear();
  graph_.nodes.push_back(std::move(node));
}

void GraphBuilder::no_barrier() { graph_.nodes.back().barrier_after = false; }

void GraphBuilder::meet_after() {
  GraphNode& node = graph_.nodes.back();
  HEARTH_CHECK(node.mode == Mode::kReduce && node.barrier_after, "a reduce may meet after it");
  if (node.sync == Sync::kNone) return;  // in lockstep all groups wait at every barrier
  node.meets_after = true;
  ++graph_.sync_count;
  extend_cross_reads(next_node() - 1);
}

void GraphBuilder::extend_cross_reads(uint32_t node) {
  for (ValueId id : cross_read_) {
    graph_.values[id].last_use = std::max(graph_.values[id].last_use, node);
  }
  cross_read_.clear();
}

// Counts lifetimes in barriers, not in nodes. Nodes of a group with no barrier between them may run
// at once, so they count as one point in time.
void GraphBuilder::place_values() {
  std::vector<uint32_t> time(graph_.nodes.size());
  uint32_t now = 0;
  for (uint32_t n = 0; n < graph_.nodes.size(); ++n) {
    time[n] = now;
    if (graph_.nodes[n].barrier_after) ++now;
  }
  graph_.places.resize(graph_.values.size());
  graph_.activation_bytes.assign(group_count(), 0);
  for (uint32_t g = 0; g < group_count(); ++g) {
    std::vector<ActivationValue> requests;
    std::vector<std::pair<ValueId, size_t>> owners;
    for (ValueId id = 0; id < graph_.values.size(); ++id) {
      const Value& value = graph_.values[id];
      if (value.group != g) continue;
      for (size_t f = 0; f < kActFormats; ++f) {
        if (!(value.formats >> f & 1)) continue;
        size_t bytes =
            act_bytes(static_cast<ActFormat>(f), graph_.rows_capacity(value.rows), value.width);
        requests.push_back({bytes, 64, time[value.first_use], time[value.last_use]});
        owners.emplace_back(id, f);
      }
    }
    ActivationPlan placed = plan_activations(requests);
    for (size_t i = 0; i < owners.size(); ++i) {
      graph_.places[owners[i].first].offset[owners[i].second] = placed.offsets[i];
    }
    graph_.activation_bytes[g] = placed.peak_bytes;
  }
}

Graph GraphBuilder::finish() && {
  HEARTH_CHECK(pending_reads_.empty() && pending_writes_.empty(),
               "reads and writes precede append");
  extend_cross_reads(next_node() - 1);
  GraphNode& last = graph_.nodes.back();
  if (!last.meets_after) last.barrier_after = false;
  place_values();
  return std::move(graph_);
}

}  // namespace hearth
