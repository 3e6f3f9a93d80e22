#include "tune/step_load.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "graph/ops/weight_work.h"
#include "kernels/gemm/gemm.h"

namespace hearth {
namespace {

constexpr double kF32Bytes = sizeof(float);

double filled(double one, double threads) { return 1 - std::pow(1 - one, threads); }

double fastest_memory(const BandwidthTable& table, uint32_t node) {
  return *std::max_element(table.read[node].begin(), table.read[node].end());
}

// An element of activations as kernels of the type read it, with scales and sums.
double activation_bytes(DType type) {
  switch (act_format_for(pack_kind_for(type))) {
    case ActFormat::kQ8:
      return 1.375;
    case ActFormat::kBF16:
      return 2;
    case ActFormat::kF32:
      return 4;
  }
  HEARTH_CHECK(false, "not an ActFormat");
}

// All, where the table knows of none.
UnitSet measured_units(const BandwidthTable& table) {
  UnitSet units;
  bool known = table.core_ops[static_cast<size_t>(Unit::kF32Fma)] > 0;
  for (size_t u = 0; u < kUnits; ++u) units[u] = !known || table.core_ops[u] > 0;
  return units;
}

}  // namespace

ReadRates::ReadRates(const Machine& machine, const BandwidthTable& table,
                     const Placement& placement, const CostConstants& constants)
    : table_(table),
      threads_(machine.nodes.size(), 0),
      fill_(threads_.size(), 0),
      alone_(threads_.size(), 0) {
  for (const Seat& seat : placement.seats) ++threads_[seat.node];
  for (uint32_t i = 0; i < nodes(); ++i) {
    for (uint32_t n = 0; n < nodes(); ++n) {
      if (table.read[n][i] > 0) {
        memories_.push_back(i);
        break;
      }
    }
    double best = fastest_memory(table, i), measured = std::max(1u, table.threads[i]);
    if (threads_[i] == 0 || best <= 0) continue;
    double one = table.core_read > 0 ? table.core_read / best : constants.core_fill;
    alone_[i] = std::clamp(one, 1 / measured, 1.0);
    fill_[i] = std::min(1.0, filled(alone_[i], threads_[i]) / filled(alone_[i], measured));
  }
}

double ReadRates::memory_gives(uint32_t j) const {
  double best = 0;
  for (const std::vector<double>& row : table_.read) best = std::max(best, row[j]);
  return best;
}

double ReadRates::one_reads(uint32_t i, uint32_t j) const { return table_.read[i][j] * alone_[i]; }

// A matrix of the model, cut.
struct StepLoader::Matrix {
  DType type;
  uint32_t rows, k;
  CutBy cut;
  const AxisCuts& cuts;
  uint32_t unit;
};

StepLoader::StepLoader(const Machine& machine, const BandwidthTable& table, const ReadRates& rates,
                       const ModelShape& model, const PlacedPlan& plan, const StepShape& step,
                       const CostConstants& constants)
    : machine_(machine),
      rates_(rates),
      model_(model),
      plan_(plan),
      step_(step),
      constants_(constants),
      units_(measured_units(table)),
      axes_(cut_decoder(model.config, plan.shares)) {
  HEARTH_CHECK(plan.placement.seats.size() >= plan.plan.member_count() &&
                   plan.shard_nodes.size() == plan.plan.shard_count(),
               "a seat for every member and a node for every shard");
  for (const PlanGroup& group : plan.plan.groups) {
    std::vector<uint32_t>& threads = group_threads_.emplace_back(rates.nodes(), 0);
    for (uint32_t m = group.member_begin; m < group.member_end; ++m) {
      ++threads[plan.placement.seats[m].node];
    }
  }
}

OpLoad StepLoader::empty() const { return {plan_.plan.group_count(), rates_.nodes()}; }

// Where the group's activations lie.
uint32_t StepLoader::home(uint32_t group) const {
  return machine_.memory_node(plan_.shard_nodes[plan_.plan.groups[group].share.shard_begin]);
}

// Which part of the group's bytes of a shard the threads of each node read: chunks go to whoever is
// free.
std::vector<double> StepLoader::shares(uint32_t group, uint32_t shard) const {
  const PlanGroup& g = plan_.plan.groups[group];
  std::vector<uint32_t> standing(rates_.nodes(), 0);
  bool anybody = false;
  for (uint32_t m = g.member_begin; m < g.member_end; ++m) {
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

// Where the shard's weights, keys and values lie.
std::vector<uint32_t> StepLoader::memories_of(uint32_t shard) const {
  if (plan_.placing == WeightPlacing::kUnplaced) return rates_.memories();
  return {machine_.memory_node(plan_.shard_nodes[shard])};
}

void StepLoader::spread(OpLoad& load, uint32_t group, uint32_t shard, double bytes) const {
  std::vector<double> parts = shares(group, shard);
  std::vector<uint32_t> memories = memories_of(shard);
  for (uint32_t i = 0; i < parts.size(); ++i) {
    for (uint32_t j : memories) {
      load.read(group, i, j) += bytes * parts[i] / static_cast<double>(memories.size());
    }
  }
}

// Activations of `rows` rows, in bytes a row: `each` is what every node's threads read, `shared`
// what the group's threads read or write between them.
void StepLoader::add_activations(OpLoad& load, uint32_t group, double each, double shared,
                                 uint32_t rows) const {
  const PlanGroup& g = plan_.plan.groups[group];
  double size = g.member_end - g.member_begin;
  for (uint32_t i = 0; i < rates_.nodes(); ++i) {
    uint32_t threads = group_threads_[group][i];
    if (threads == 0 || i == home(group)) continue;
    double bytes = rows * (each + shared * threads / size);
    load.read(group, i, home(group)) += bytes;
    load.activation_bytes += bytes;
  }
}

void StepLoader::add_matrix(OpLoad& load, const Matrix& matrix, uint32_t rows) const {
  Weight weight =
      cut_weight("", matrix.type, matrix.rows, matrix.k, matrix.cut, matrix.cuts, matrix.unit);
  for (uint32_t g = 0; g < plan_.plan.group_count(); ++g) {
    const GroupShare& share = plan_.plan.groups[g].share;
    std::vector<WeightWork> by_slot(share.shard_end - share.shard_begin);
    if (matrix.cut == CutBy::kRows) {
      uint32_t column = 0;
      for (const RowSlice& slice : row_slices(weight, share, &column)) {
        by_slot[slice.shard - share.shard_begin].add(weight, slice);
      }
    } else {
      for (const Piece& piece : pieces_of(matrix.cuts, share)) {
        by_slot[piece.shard - share.shard_begin].add(weight, piece);
      }
    }
    for (uint32_t s = 0; s < by_slot.size(); ++s) {
      OpWork work = by_slot[s].of(rows, units_);
      if (work.bytes == 0) continue;
      spread(load, g, share.shard_begin + s, static_cast<double>(work.bytes));
      load.weight_bytes += static_cast<double>(work.bytes);
      for (size_t u = 0; u < kUnits; ++u) {
        load.ops[g][u] += static_cast<double>(work.operations[u]);
      }
    }
  }
}

OpLoad StepLoader::attention() const {
  OpLoad load = empty();
  const DecoderConfig& config = model_.config;
  Visible seen = visible(step_.depth, step_.rows, config.window);
  double position_bytes =
      2.0 * static_cast<double>(kv_half_bytes(step_.kv_type, config.head_dim)) / kPagePositions;
  for (uint32_t g = 0; g < plan_.plan.group_count(); ++g) {
    const GroupShare& share = plan_.plan.groups[g].share;
    for (uint32_t s = share.shard_begin; s < share.shard_end; ++s) {
      double kv_heads = share.units(axes_.kv, s).size();
      double heads = share.units(axes_.heads, s).size() * axes_.unit_heads;
      if (heads == 0) continue;
      double bytes = kv_heads * static_cast<double>(seen.positions) * position_bytes;
      spread(load, g, s, bytes);
      load.kv_bytes += bytes;
      load.ops[g][static_cast<size_t>(unit_for(step_.kv_type, units_))] +=
          heads * static_cast<double>(seen.pairs) * 4 * config.head_dim;
    }
  }
  return load;
}

// Adds what a thread of a group on `node` moves for each of the rows that all such threads have,
// and the time that it takes.
void StepLoader::add_row(OpLoad& load, uint32_t group, uint32_t node, double bytes, uint32_t home,
                         double rows, double* seconds) const {
  *seconds += bytes / rates_.one_reads(node, home);
  if (node == home) return;
  load.read(group, node, home) += bytes * rows;
  load.activation_bytes += bytes * rows;
}

// A row is summed by one thread of every group, or where rows are dealt by one thread of all, which
// then writes its norm, as `reader` wants it, into the other groups' copies.
OpLoad StepLoader::reduce(const AxisCuts& cuts, DType reader, uint32_t rows) const {
  OpLoad load = empty();
  const Plan& plan = plan_.plan;
  bool dealt = deals_rows(plan);
  double width = model_.config.width, normed_bytes = width * activation_bytes(reader);
  for (uint32_t g = 0; g < plan.group_count(); ++g) {
    const PlanGroup& group = plan.groups[g];
    uint32_t sharers = dealt ? plan.member_count() : group.member_end - group.member_begin;
    double row_seconds = 0;
    for (uint32_t i = 0; i < rates_.nodes(); ++i) {
      if (group_threads_[g][i] == 0) continue;
      double part = static_cast<double>(rows) * group_threads_[g][i] / sharers;
      double seconds = constants_.row_element * width;
      for (uint32_t h = 0; h < plan.group_count(); ++h) {
        auto pieces = static_cast<double>(pieces_of(cuts, plan.groups[h].share).size());
        add_row(load, g, i, kF32Bytes * width * pieces, home(h), part, &seconds);
        if (dealt && h != g) add_row(load, g, i, normed_bytes, home(h), part, &seconds);
      }
      row_seconds = std::max(row_seconds, seconds);
    }
    const uint32_t rows_of_one = (rows + sharers - 1) / sharers;
    load.least[g] = rows_of_one * row_seconds;
  }
  for (uint32_t g = 0; g < plan.group_count(); ++g) {
    double size = plan.groups[g].member_end - plan.groups[g].member_begin;
    double part = dealt ? size / plan.member_count() : 1;
    add_activations(load, g, 0, part * (2 * kF32Bytes * width + normed_bytes), rows);
  }
  return load;
}

// Every group reads the rows of all tokens, wherever in the vocabulary they are. A row lies across
// its panel (tensor/pack_spec.h), so all of the panel's lines are fetched.
OpLoad StepLoader::embedding() const {
  OpLoad load = empty();
  PackSpec row{pack_kind_for(model_.embedding), 1, model_.config.width, 0};
  auto panel_bytes = static_cast<double>(row.codes_panel_bytes() + row.scales_panel_bytes());
  load.embedding_bytes = plan_.plan.group_count() * step_.rows * panel_bytes;
  double units = axes_.vocabulary.units();
  for (uint32_t s = 0; s < plan_.plan.shard_count(); ++s) {
    double there = step_.rows * panel_bytes * axes_.vocabulary.shard(s).size() / units;
    std::vector<uint32_t> memories = memories_of(s);
    for (uint32_t g = 0; g < plan_.plan.group_count(); ++g) {
      const PlanGroup& group = plan_.plan.groups[g];
      double size = group.member_end - group.member_begin;
      for (uint32_t i = 0; i < rates_.nodes(); ++i) {
        double bytes = there * group_threads_[g][i] / size;
        for (uint32_t j : memories) {
          load.read(g, i, j) += bytes / static_cast<double>(memories.size());
        }
      }
    }
  }
  return load;
}

OpLoad StepLoader::last_reduce() const { return reduce(axes_.ffn, model_.head, 1); }

LayerLoad StepLoader::layer(const LayerTypes& types) const {
  const DecoderConfig& c = model_.config;
  uint32_t q_unit = axes_.unit_heads * c.head_dim, q_rows = c.heads * c.head_dim;
  uint32_t kv_rows = c.kv_heads * c.head_dim;
  LayerLoad load{empty(),
                 empty(),
                 attention(),
                 empty(),
                 reduce(axes_.heads, types.gate, step_.rows),
                 empty(),
                 empty(),
                 reduce(axes_.ffn, types.q, step_.rows)};
  auto rows_of = [&](OpLoad& op, DType type, uint32_t rows, const AxisCuts& cuts, uint32_t unit) {
    add_matrix(op, {type, rows, c.width, CutBy::kRows, cuts, unit}, step_.rows);
  };
  rows_of(load.qkv, types.q, q_rows, axes_.heads, q_unit);
  rows_of(load.qkv, types.k, kv_rows, axes_.kv, c.head_dim);
  rows_of(load.qkv, types.v, kv_rows, axes_.kv, c.head_dim);
  rows_of(load.gate_up, types.gate, c.ffn, axes_.ffn, kFfnUnit);
  rows_of(load.gate_up, types.up, c.ffn, axes_.ffn, kFfnUnit);
  add_matrix(load.output, {types.output, c.width, q_rows, CutBy::kColumns, axes_.heads, q_unit},
             step_.rows);
  add_matrix(load.down, {types.down, c.width, c.ffn, CutBy::kColumns, axes_.ffn, kFfnUnit},
             step_.rows);
  for (uint32_t g = 0; g < plan_.plan.group_count(); ++g) add_layer_activations(load, types, g);
  return load;
}

// What crosses nodes inside a group of several. A thread multiplies with the columns of its own
// shard only.
void StepLoader::add_layer_activations(LayerLoad& load, const LayerTypes& types,
                                       uint32_t group) const {
  const DecoderConfig& c = model_.config;
  const GroupShare& share = plan_.plan.groups[group].share;
  double q = 0, kv = 0, ffn = 0, slots = share.shard_end - share.shard_begin;
  for (uint32_t s = share.shard_begin; s < share.shard_end; ++s) {
    q += share.units(axes_.heads, s).size() * axes_.unit_heads * c.head_dim;
    kv += share.units(axes_.kv, s).size() * c.head_dim;
    ffn += share.units(axes_.ffn, s).size() * kFfnUnit;
  }
  double width = c.width;
  auto partials = [&](const AxisCuts& cuts) {
    return kF32Bytes * width * static_cast<double>(pieces_of(cuts, share).size());
  };
  double heads_bytes = q * activation_bytes(types.output);
  double hidden_bytes = ffn * activation_bytes(types.down);
  auto add = [&](OpLoad& op, double each, double shared) {
    add_activations(op, group, each, shared, step_.rows);
  };
  add(load.qkv, width * activation_bytes(types.q), kF32Bytes * (q + 2 * kv));
  add(load.rope, 0, 2 * kF32Bytes * (q + kv));
  add(load.attention, 0, kF32Bytes * q + heads_bytes);
  add(load.output, heads_bytes / slots, partials(axes_.heads));
  add(load.gate_up, width * activation_bytes(types.gate), hidden_bytes);
  add(load.down, hidden_bytes / slots, partials(axes_.ffn));
}

OpLoad StepLoader::head() const {
  OpLoad load = empty();
  const DecoderConfig& c = model_.config;
  add_matrix(load,
             {model_.head, c.vocabulary, c.width, CutBy::kRows, axes_.vocabulary, kVocabularyUnit},
             1);
  for (uint32_t g = 0; g < plan_.plan.group_count(); ++g) {
    add_activations(load, g, c.width * activation_bytes(model_.head), 0, 1);
  }
  return load;
}

}  // namespace hearth
