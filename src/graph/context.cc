#include "graph/context.h"

#include <new>

#include "base/check.h"
#include "graph/sync_layout.h"

namespace hearth {
namespace {

// Returns the local shards whose tasks a member claims: its own, then those on which no member of
// the group stands.
std::vector<uint32_t> local_shards_of(const Plan& plan, const PlanGroup& group, uint32_t member) {
  uint32_t local_shards = group.share.shard_end - group.share.shard_begin;
  std::vector<bool> inhabited(local_shards, false);
  for (uint32_t m : group.members) {
    uint32_t shard = plan.member_shards[m];
    if (shard >= group.share.shard_begin && shard < group.share.shard_end) {
      inhabited[shard - group.share.shard_begin] = true;
    }
  }
  std::vector<uint32_t> order;
  uint32_t home = plan.member_shards[member];
  if (home >= group.share.shard_begin && home < group.share.shard_end) {
    order.push_back(home - group.share.shard_begin);
  }
  for (uint32_t local_shard = 0; local_shard < local_shards; ++local_shard) {
    if (!inhabited[local_shard]) order.push_back(local_shard);
  }
  return order;
}

}  // namespace

ExecutionContext::ExecutionContext(const Graph& graph, const ContextMemory& memory,
                                   const KvView& kv)
    : graph_(&graph),
      kv_(kv),
      local_shards_(graph.plan.member_count()),
      buffers_(graph.values.size()) {
  for (const PlanGroup& group : graph.plan.groups) {
    for (uint32_t m : group.members) local_shards_[m] = local_shards_of(graph.plan, group, m);
  }
  place_activations(memory.activations);
  place_sync(memory.sync);
}

void ExecutionContext::place_activations(const std::vector<std::byte*>& bases) {
  HEARTH_CHECK(bases.size() == graph_->plan.group_count(), "activation memory for every group");
  for (ValueId id = 0; id < graph_->values.size(); ++id) {
    const Value& value = graph_->values[id];
    for (size_t f = 0; f < kActFormats; ++f) {
      if (!(value.formats >> f & 1)) continue;
      buffers_[id][f] =
          act_buffer(static_cast<ActFormat>(f), bases[value.group] + graph_->places[id].offset[f],
                     graph_->rows_capacity(value.rows), value.width);
    }
  }
}

void ExecutionContext::place_sync(const std::vector<std::byte*>& bases) {
  SyncLayout layout(*graph_);
  const Plan& plan = graph_->plan;
  HEARTH_CHECK(bases.size() == layout.bytes.size(), "sync memory for every shard");
  auto at = [&](const SyncSpot& spot) { return bases[spot.shard] + spot.offset; };
  for (const SyncSpot& spot : layout.counters) counters_.push_back(new (at(spot)) ChunkCounter);
  for (const SyncSpot& spot : layout.flags) flags_.push_back(new (at(spot)) Flag);
  std::vector<std::byte*> seats;
  for (const SyncSpot& spot : layout.seats) seats.push_back(at(spot));
  if (plan.sync == GroupSync::kLockstep) {
    barriers_.emplace_back(seats);
  } else {
    auto next = seats.begin();
    for (const PlanGroup& group : plan.groups) {
      barriers_.emplace_back(std::vector<std::byte*>(next, next + group.size()));
      next += group.size();
    }
  }
  station_of_worker_ = layout.station_of_worker;
  flags_posted_.resize(plan.group_count());
  flags_posted_serial_.resize(plan.group_count());
  for (const SyncLayout::Station& station : layout.stations) {
    std::vector<Flag*>& flags = stations_.emplace_back(plan.group_count());
    for (uint32_t from = 0; from < plan.group_count(); ++from) {
      if (from == station.group) continue;
      flags[from] = new (at(station.flags[from])) Flag;
      flags_posted_[from].push_back(flags[from]);
      if (station.group == 0) flags_posted_serial_[from].push_back(flags[from]);
    }
  }
}

void ExecutionContext::count_pages() {
  HEARTH_CHECK(step_.items.size() <= graph_->max_items, "a step's items fit its graph");
  first_pages_.assign(1, 0);
  for (const StepItem& item : step_.items) {
    first_pages_.push_back(first_pages_.back() + pages_for(item.rows));
  }
}

StepSizes ExecutionContext::sizes() const {
  return {.graph = *graph_,
          .items = step_.items,
          .rows = step_.rows(),
          .outputs = static_cast<uint32_t>(step_.outputs.size()),
          .logit_rows = step_.logit_rows,
          .kv_type = kv_.type(),
          .units = units_of(kernels().limits)};
}

void ExecutionContext::begin(const StepView& step) {
  HEARTH_CHECK(step.rows() > 0 && step.rows() <= graph_->plan.max_rows, "a step fits its graph");
  HEARTH_CHECK(step.outputs.size() <= graph_->max_outputs, "a step's outputs fit its graph");
  step_ = step;
  if (graph_->max_items > 0) count_pages();
  ++run_;
}

}  // namespace hearth
