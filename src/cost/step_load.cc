#include "cost/step_load.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace hearth {
namespace {

double filled(double one, double threads) { return 1 - std::pow(1 - one, threads); }

double fastest_memory(const BandwidthTable& table, uint32_t node) {
  return *std::max_element(table.read[node].begin(), table.read[node].end());
}

}  // namespace

ArithmeticUnitSet measured_units(const BandwidthTable& table) {
  ArithmeticUnitSet units;
  bool known = table.core_ops[static_cast<size_t>(ArithmeticUnit::kF32Fma)] > 0;
  for (size_t u = 0; u < kArithmeticUnits; ++u) units[u] = !known || table.core_ops[u] > 0;
  return units;
}

ReadRates::ReadRates(const Machine& machine, const BandwidthTable& table, const PlacedPlan& plan,
                     const CostConstants& constants)
    : table_(table),
      threads_(machine.nodes.size(), 0),
      measured_(threads_.size(), false),
      fill_(threads_.size(), 0),
      alone_(threads_.size(), 0),
      most_(threads_.size(), 1) {
  for (const PlanGroup& group : plan.plan.groups) {
    for (uint32_t m : group.members) ++threads_[plan.placement.seats[m].node];
  }
  for (uint32_t i = 0; i < nodes(); ++i) {
    for (uint32_t n = 0; n < nodes(); ++n) {
      if (table.read[n][i] > 0) {
        memories_.push_back(i);
        break;
      }
    }
    measured_[i] = table.contention && table.contention->cores > 0 &&
                   table.contention->cores == cores_in_row(machine, i).size();
    if (measured_[i]) {
      fill_measured(machine, plan, i);
    } else {
      fill_node(i, std::max(1u, table.threads[i]), constants);
    }
  }
}

// Sets the rates of a node by the formula f(n). It is for nodes without measured contention.
void ReadRates::fill_node(uint32_t node, uint32_t threads, const CostConstants& constants) {
  const double best = fastest_memory(table_, node);
  if (threads_[node] == 0 || best <= 0) return;
  const double one = table_.core_read > 0 ? table_.core_read / best : constants.core_fill;
  alone_[node] = std::clamp(one, 1.0 / threads, 1.0);
  fill_[node] = std::min(1.0, filled(alone_[node], threads_[node]) / filled(alone_[node], threads));
}

void ReadRates::fill_measured(const Machine& machine, const PlacedPlan& plan, uint32_t node) {
  const Contention& contention = *table_.contention;
  const std::vector<uint32_t> row = cores_in_row(machine, node);
  std::vector<uint32_t> threads(row.size(), 0), first(row.size(), 0);
  for (uint32_t m : plan.plan.working_members()) {
    const Seat& seat = plan.placement.seats[m];
    auto place = std::find(row.begin(), row.end(), seat.core);
    if (seat.node == node && place != row.end()) ++threads[place - row.begin()];
  }
  first[0] = 1;
  const double full = full_read(contention);
  fill_[node] = contended_read(contention, threads) / full;
  alone_[node] = contended_read(contention, first) / full;
  most_[node] = max_read(contention) / full;
}

double ReadRates::memory_gives(uint32_t j) const {
  double best = 0;
  for (uint32_t i = 0; i < nodes(); ++i) best = std::max(best, node_reads(i, j));
  return best;
}

double ReadRates::one_reads(uint32_t i, uint32_t j) const { return table_.read[i][j] * alone_[i]; }

LoadSpreader::LoadSpreader(const Machine& machine, const ReadRates& rates, const PlacedPlan& plan,
                           const CostConstants& constants)
    : machine_(machine), rates_(rates), plan_(plan), constants_(constants) {
  HEARTH_CHECK(plan.placement.seats.size() >= plan.plan.member_count() &&
                   plan.shard_nodes.size() == plan.plan.shard_count(),
               "a seat for every member and a node for every shard");
  for (const PlanGroup& group : plan.plan.groups) {
    std::vector<uint32_t>& threads = group_threads_.emplace_back(rates.nodes(), 0);
    for (uint32_t m : group.members) {
      ++threads[plan.placement.seats[m].node];
    }
  }
}

// Returns the node where the group's activations lie.
uint32_t LoadSpreader::home(uint32_t group) const {
  return machine_.memory_node(plan_.shard_nodes[plan_.plan.groups[group].share.shard_begin]);
}

// Returns for each node the part of a shard's bytes that the node's threads of this group read.
// Each chunk goes to a thread that is free, so faster readers read more.
std::vector<double> LoadSpreader::shares(uint32_t group, uint32_t shard) const {
  const PlanGroup& g = plan_.plan.groups[group];
  std::vector<uint32_t> standing(rates_.nodes(), 0);
  bool anybody = false;
  for (uint32_t m : g.members) {
    if (plan_.plan.member_shards[m] != shard) continue;
    ++standing[plan_.placement.seats[m].node];
    anybody = true;
  }
  if (!anybody) standing = group_threads_[group];
  std::vector<double> parts(rates_.nodes(), 0);
  double sum = 0;
  for (uint32_t i = 0; i < rates_.nodes(); ++i) {
    if (standing[i] == 0) continue;
    double slowness = 0;
    if (plan_.placing == WeightPlacing::kPlaced) {
      slowness = 1 / rates_.threads_read(i, machine_.memory_node(plan_.shard_nodes[shard]));
    } else {
      for (uint32_t j : rates_.memories()) slowness += 1 / rates_.threads_read(i, j);
    }
    sum += parts[i] = standing[i] / (rates_.threads(i) * slowness);
  }
  for (double& part : parts) part /= sum;
  return parts;
}

// Returns the nodes where the shard's weights, keys and values lie.
std::vector<uint32_t> LoadSpreader::memories_of(uint32_t shard) const {
  if (plan_.placing == WeightPlacing::kUnplaced) return rates_.memories();
  return {machine_.memory_node(plan_.shard_nodes[shard])};
}

void LoadSpreader::add(const OpLoad& load, uint32_t group, NodeLoad* sum) const {
  for (const OpLoad::Reads& of : load.reads) {
    auto weights = static_cast<double>(of.weights), kv = static_cast<double>(of.kv);
    auto table = static_cast<double>(of.table);
    add_reads(weights + kv, group, of.shard, sum);
    add_table(table, group, of.shard, sum);
    sum->weight_bytes += weights;
    sum->kv_bytes += kv;
    sum->embedding_bytes += table;
  }
  for (size_t u = 0; u < kArithmeticUnits; ++u) {
    sum->ops[group][u] += static_cast<double>(load.operations[u]);
  }
  sum->stretch = std::max(sum->stretch, load.stretch);
  add_activations(load, group, sum);
  if (load.rows.rows > 0) add_rows(load.rows, group, sum);
}

void LoadSpreader::add_reads(double bytes, uint32_t group, uint32_t shard, NodeLoad* sum) const {
  if (bytes == 0) return;
  std::vector<double> parts = shares(group, shard);
  std::vector<uint32_t> memories = memories_of(shard);
  for (uint32_t i = 0; i < parts.size(); ++i) {
    for (uint32_t j : memories) {
      sum->read(group, i, j) += bytes * parts[i] / static_cast<double>(memories.size());
    }
  }
}

// Adds the reads of a table. The group deals its rows to all of its threads, on whatever node they
// stand.
void LoadSpreader::add_table(double bytes, uint32_t group, uint32_t shard, NodeLoad* sum) const {
  if (bytes == 0) return;
  const PlanGroup& g = plan_.plan.groups[group];
  double size = g.size();
  std::vector<uint32_t> memories = memories_of(shard);
  for (uint32_t i = 0; i < rates_.nodes(); ++i) {
    double part = bytes * group_threads_[group][i] / size;
    for (uint32_t j : memories) {
      sum->read(group, i, j) += part / static_cast<double>(memories.size());
    }
  }
}

// Adds the activations that threads read and write across nodes, in a group with threads on several
// nodes.
void LoadSpreader::add_activations(const OpLoad& load, uint32_t group, NodeLoad* sum) const {
  const PlanGroup& g = plan_.plan.groups[group];
  double size = g.size();
  for (uint32_t i = 0; i < rates_.nodes(); ++i) {
    uint32_t threads = group_threads_[group][i];
    if (threads == 0 || i == home(group)) continue;
    double bytes = load.each_bytes + load.shared_bytes * threads / size;
    sum->read(group, i, home(group)) += bytes;
    sum->activation_bytes += bytes;
  }
}

// Adds what one row costs a thread of a group on `node`: to `seconds` the time, and to `sum` the
// bytes across nodes. `rows` is how many rows all such threads have together.
void LoadSpreader::add_row(uint32_t group, uint32_t node, double bytes, uint32_t home, double rows,
                           double* seconds, NodeLoad* sum) const {
  *seconds += bytes / rates_.one_reads(node, home);
  if (node == home) return;
  sum->read(group, node, home) += bytes * rows;
  sum->activation_bytes += bytes * rows;
}

// Adds the summing of rows. Where rows are dealt, one thread of all groups sums a row, and writes
// its norm into the other groups' copies. Else one thread of every group sums each row.
void LoadSpreader::add_rows(const OpLoad::Rows& rows, uint32_t group, NodeLoad* sum) const {
  const Plan& plan = plan_.plan;
  const PlanGroup& g = plan.groups[group];
  uint32_t sharers = rows.dealt ? plan.worker_count() : g.size();
  double row_seconds = 0;
  for (uint32_t i = 0; i < rates_.nodes(); ++i) {
    if (group_threads_[group][i] == 0) continue;
    double part = static_cast<double>(rows.rows) * group_threads_[group][i] / sharers;
    double seconds = constants_.row_element * rows.elements;
    for (uint32_t h = 0; h < plan.group_count(); ++h) {
      add_row(group, i, rows.read_bytes[h], home(h), part, &seconds, sum);
      if (rows.dealt && h != group) {
        add_row(group, i, rows.copy_bytes, home(h), part, &seconds, sum);
      }
    }
    row_seconds = std::max(row_seconds, seconds);
  }
  const uint32_t rows_of_one = (rows.rows + sharers - 1) / sharers;
  sum->least[group] = std::max(sum->least[group], rows_of_one * row_seconds);
}

}  // namespace hearth
