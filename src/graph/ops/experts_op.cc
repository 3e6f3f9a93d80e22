#include "graph/ops/experts_op.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "graph/ops/gemm_tasks.h"
#include "kernels/simd/sigmoid.h"

namespace hearth {
namespace {

// Rows that are routed at a time.
constexpr uint32_t kRoutedRows = 16;

static_assert((choice_words(kFewRows, {.experts = kMaxExperts, .used = kMaxChosen}) +
               3 * kMaxExperts + task_words(kMaxExperts + 1) + kMaxExperts + 1) *
                  sizeof(uint32_t) <=
              kExpertWordBytes);

// The order in which a row's terms are added: their weights, and the steps of the sum
// (WeightedSumArgs).
struct Terms {
  const float* vectors[kMaxChosen];
  float weights[kMaxChosen];
  uint8_t steps[kMaxChosen];
  uint32_t count = 0;
  uint32_t segment = 0;  // of the last term
  // Each held sum's level of the tree, at which it is added to the sum that is held before it.
  uint32_t levels[kMaxSums];
  uint32_t open = 0;

  void add(const float* vector, float weight, uint32_t in_segment) {
    vectors[count] = vector;
    weights[count] = weight;
    steps[count] = 0;
    if (count > 0 && in_segment == segment) {
      steps[count] = kOntoTop;
    } else if (count > 0) {
      const auto level = static_cast<uint32_t>(std::bit_width(in_segment ^ segment));
      for (; open > 0 && levels[open - 1] < level; --open) ++steps[count - 1];
      levels[open++] = level;
    }
    segment = in_segment;
    ++count;
  }
  void finish() {
    for (; open > 0; --open) ++steps[count - 1];
  }
};

// Quantises row `row` of `out`: element j is x[order[j]].
void quantise_in_order(QuantizeFn quantise, const float* x, const std::vector<uint32_t>& order,
                       const ActBuffer& out, size_t row) {
  constexpr size_t kColumns = 512;
  std::array<float, kColumns> part;
  for (size_t first = 0; first < order.size(); first += kColumns) {
    const size_t count = std::min(kColumns, order.size() - first);
    for (size_t j = 0; j < count; ++j) part[j] = x[order[first + j]];
    quantise({part.data(), static_cast<uint32_t>(first), static_cast<uint32_t>(count), out, row});
  }
}

}  // namespace

ExpertChoices ExpertsOp::route(ExecutionContext& context, const OpSync& sync,
                               uint32_t** words) const noexcept {
  const RouterRule& rule = layer_.rule;
  const uint32_t rows = context.rows(x_);
  auto* scratch = reinterpret_cast<float*>(*words);
  *words += 3 * rule.experts;
  if (rows <= kFewRows) {
    ExpertChoices own = choices_over(*words, rows, rule);
    *words += choice_words(rows, rule);
    route_rows(context, own, {0, rows}, scratch);
    group_by_expert(own);
    return own;
  }
  // The choices that all threads share. The thread that routes the last rows groups them by expert.
  ExpertChoices shared = choices(context);
  const uint32_t count = (rows + kRoutedRows - 1) / kRoutedRows;
  const uint32_t counter = sync.counter0 + local_shards();
  const uint32_t routed = sync.flag0 + local_shards() * kExpertFlags, grouped = routed + 1;
  for (uint32_t task; (task = context.claim(counter, count)) < count;) {
    const RowRange range{task * kRoutedRows, std::min((task + 1) * kRoutedRows, rows)};
    route_rows(context, shared, range, scratch);
    context.arrive(routed, 1, count);
    if (task + 1 < count) continue;
    context.wait_for(routed);
    group_by_expert(shared);
    context.post(grouped);
  }
  context.wait_for(grouped);
  return shared;
}

void ExpertsOp::route_rows(const ExecutionContext& context, const ExpertChoices& choices,
                           const RowRange& rows, float* scratch) const noexcept {
  const float* bias = layer_.bias == nullptr ? nullptr : layer_.bias->copies[bias_shard_];
  const float* scales = layer_.scales == nullptr ? nullptr : layer_.scales->copies[bias_shard_];
  for (uint32_t r = rows.begin; r < rows.end; ++r) {
    uint32_t* chosen = choices.chosen + size_t{r} * choices.used;
    float* weights = choices.weights + size_t{r} * choices.used;
    choose_experts(layer_.rule, context.f32(logits_) + r * context.f32_stride(logits_), bias,
                   scratch, chosen, weights);
    for (uint32_t i = 0; scales != nullptr && i < choices.used; ++i)
      weights[i] *= scales[chosen[i]];
    if (!shared_gate_) continue;
    choices.shared[r] =
        sigmoid(context.f32(logits_)[r * context.f32_stride(logits_) + *shared_gate_]);
  }
}

// Consecutive tasks that a thread claimed are one kernel call if they can be joined.
void ExpertsOp::run_claim(const Run& run, const ChunkClaim& claimed,
                          uint32_t* bases) const noexcept {
  const ExpertShard& of = shards_[run.local_shard];
  const ExpertTasks& tasks = run.tasks;
  const bool few = run.choices.rows <= kFewRows;
  uint32_t t = claimed.begin;
  while (t < claimed.end && t < tasks.up_tasks()) {
    UpTask task = up_task(tasks, of.shape, of.units, run.choices, t);
    uint32_t joined = 1;
    while (t + joined < std::min(claimed.end, tasks.up_tasks())) {
      const UpTask next = up_task(tasks, of.shape, of.units, run.choices, t + joined);
      if (next.unit != task.unit || next.row != task.row || !task.panels.join(next.panels)) break;
      ++joined;
    }
    run_up(run, task);
    const uint32_t flag = tasks.flag_of(task.at);
    run.context.arrive(expert_flag(run, flag), joined, tasks.arrivals(flag));
    t += joined;
  }
  // Tasks of down are numbered by row block, and within a block by columns.
  const size_t row_bytes = size_t{of.units.shared ? 1u : 0u} + run.choices.used;
  const size_t most = kExpertTileBytes / (row_bytes * kPanelRows * sizeof(float) *
                                          std::min(run.choices.rows, of.shape.out_rows));
  while (t < claimed.end) {
    const uint32_t task = t - tasks.up_tasks();
    const uint32_t parts = tasks.out_tasks / tasks.row_blocks;
    const uint32_t row = task / parts * of.shape.out_rows;
    const RowRange rows{row, std::min(row + of.shape.out_rows, run.choices.rows)};
    auto range = [&](uint32_t part) {
      const uint32_t panel0 = part * of.shape.out_step;
      return PanelRange{panel0, std::min(of.shape.out_step, of.shape.out_panels - panel0)};
    };
    PanelRange panels = range(task % parts);
    uint32_t joined = 1;
    while (few && t + joined < claimed.end) {
      const PanelRange next = range(task % parts + joined);
      if (panels.panels + next.panels > most || !panels.join(next)) break;
      ++joined;
    }
    run_down(run, rows, panels, bases);
    t += joined;
  }
}

// Returns the rows of a task in one format. They are gathered into the tile if they do not follow
// each other, or if their elements get another order.
ActView ExpertsOp::gather(const Run& run, const UpTask& task, const ColumnOrder& order,
                          ActFormat format, std::byte** tile) const noexcept {
  const ExpertShard& of = shards_[run.local_shard];
  const ActView x = run.context.view(x_, format);
  const bool shared = of.units.is_shared(task.unit);
  const uint32_t* chosen =
      shared ? nullptr : run.choices.row + run.choices.first[of.units.ids[task.unit]] + task.row;
  auto row = [&](uint32_t r) { return shared ? task.row + r : chosen[r]; };
  const bool on_end = row(task.rows - 1) - row(0) == task.rows - 1;
  if (on_end && order == nullptr) return act_rows(x, row(0), 0);
  const ActBuffer gathered = act_buffer(format, *tile, task.rows, x.row_stride);
  *tile += act_bytes(format, task.rows, x.row_stride);
  for (uint32_t r = 0; r < task.rows; ++r) {
    if (order == nullptr) {
      copy_act_row(format, x, row(r), gathered, r);
    } else {
      const float* values = run.context.f32(x_) + row(r) * run.context.f32_stride(x_);
      quantise_in_order(run.context.kernels().quantize[static_cast<size_t>(format)], values, *order,
                        gathered, r);
    }
  }
  return act_view(gathered);
}

void ExpertsOp::multiply(const Run& run, const Weight& weight, const ScheduledProduct& product,
                         const ActView& a, uint32_t rows, const PanelRange& panels,
                         float* out) const noexcept {
  const Shard& shard = weight.shards[shards_[run.local_shard].shard];
  gemm_for(run.context, weight)({weight_view(shard.spec, shard.codes, shard.scales),
                                 panels.panel0,
                                 panels.panels,
                                 0,
                                 shard.spec.blocks(),
                                 a,
                                 rows,
                                 out,
                                 size_t{panels.panels} * kPanelRows,
                                 run.worker.scratch + kOpTileBytes,
                                 {},
                                 product.at(rows)});
}

void ExpertsOp::add_own_bias(const Run& run, const VectorWeight* bias, const Weight& weight,
                             uint32_t unit, const PanelRange& panels, uint32_t rows,
                             float* out) const noexcept {
  const ExpertShard& of = shards_[run.local_shard];
  if (bias == nullptr || of.units.is_shared(unit)) return;
  add_bias(run.context.kernels(), bias_of(*bias, weight, of.shard, panels, of.units.ids[unit]),
           rows, out, size_t{panels.panels} * kPanelRows);
}

void ExpertsOp::run_up(const Run& run, const UpTask& task) const noexcept {
  const ExpertShard& of = shards_[run.local_shard];
  const ExpertWeights& weights = weights_of(of, task.unit);
  const ScheduledExpert& products = products_of(of, task.unit);
  std::byte* tile = run.worker.scratch + kExpertWordBytes;
  const ActFormat gate_format = format_for(*weights.gate), up_format = format_for(*weights.up);
  const ColumnOrder& order = weights.gate->order;
  const ActView gate_x = gather(run, task, order, gate_format, &tile);
  const ActView up_x =
      up_format == gate_format ? gate_x : gather(run, task, order, up_format, &tile);
  const bool shared = of.units.is_shared(task.unit);
  const ValueId hidden = shared ? of.shared_hidden : of.hidden;
  const uint32_t width = weights.down->shards[of.shard].spec.k;
  const size_t first = task.row + (shared ? 0 : run.choices.first[of.units.ids[task.unit]]);
  // The most panels at a time whose products fit into kExpertProductBytes, which the cache holds.
  const auto most = static_cast<uint32_t>(std::max<size_t>(
      kExpertProductBytes / (2 * sizeof(float) * kPanelRows * task.rows) / 2 * 2, 2));
  for (uint32_t p = 0; p < task.panels.panels; p += most) {
    const PanelRange panels{task.panels.panel0 + p, std::min(most, task.panels.panels - p)};
    const uint32_t columns = panels.panels * kPanelRows, column = panels.panel0 * kPanelRows;
    auto* gate = reinterpret_cast<float*>(tile);
    float* up = gate + size_t{task.rows} * columns;
    multiply(run, *weights.gate, products.gate, gate_x, task.rows, panels, gate);
    multiply(run, *weights.up, products.up, up_x, task.rows, panels, up);
    add_own_bias(run, layer_.gate_bias, *weights.gate, task.unit, panels, task.rows, gate);
    add_own_bias(run, layer_.up_bias, *weights.up, task.unit, panels, task.rows, up);
    activate_gate(run.context.kernels(), layer_.activation, gate, up, task.rows * columns);
    for (size_t f = 0; f < kActFormats; ++f) {
      auto format = static_cast<ActFormat>(f);
      if (!run.context.wants(hidden, format)) continue;
      for (uint32_t r = 0; r < task.rows; ++r) {
        run.context.kernels().quantize[f]({gate + size_t{r} * columns, column,
                                           std::min(columns, width - column),
                                           run.context.buffer(hidden, format), first + r});
      }
    }
  }
}

// Computes some columns of the output for `rows`, over all experts. `bases` is scratch for the
// place in the tile where each unit's rows begin.
void ExpertsOp::run_down(const Run& run, const RowRange& rows, const PanelRange& panels,
                         uint32_t* bases) const noexcept {
  const ExpertShard& of = shards_[run.local_shard];
  auto* tile = reinterpret_cast<float*>(run.worker.scratch + kExpertWordBytes);
  const size_t columns = size_t{panels.panels} * kPanelRows;
  uint32_t held = 0;
  for (uint32_t unit = 0; unit < of.units.count(); ++unit) {
    const bool shared = of.units.is_shared(unit);
    // Restricts the unit's rows to those among `rows`, as a range of places.
    uint32_t begin = rows.begin, end = rows.end;
    if (!shared) {
      const uint32_t* first = run.choices.first + of.units.ids[unit];
      const uint32_t* all = run.choices.row;
      begin =
          static_cast<uint32_t>(std::lower_bound(all + first[0], all + first[1], rows.begin) - all);
      end = static_cast<uint32_t>(std::lower_bound(all + begin, all + first[1], rows.end) - all);
    }
    bases[unit] = held - begin;
    if (begin == end) continue;
    run.context.wait_for(expert_flag(run, run.tasks.flag_of(run.tasks.place[unit])));
    const Weight& down = *weights_of(of, unit).down;
    const ActView hidden =
        run.context.view(shared ? of.shared_hidden : of.hidden, format_for(down));
    float* sums = tile + held * columns;
    multiply(run, down, products_of(of, unit).down, act_rows(hidden, begin, 0), end - begin, panels,
             sums);
    if (of.adds_down_bias) {
      add_own_bias(run, layer_.down_bias, down, unit, panels, end - begin, sums);
    }
    held += end - begin;
  }
  sum_rows(run, rows, panels, tile, bases);
}

void ExpertsOp::sum_rows(const Run& run, const RowRange& rows, const PanelRange& panels,
                         const float* tile, const uint32_t* bases) const noexcept {
  const ExpertShard& of = shards_[run.local_shard];
  const ExpertChoices& choices = run.choices;
  const uint32_t columns = panels.panels * kPanelRows;
  // A unit's base may lie before the tile, but base + place lies inside.
  auto term = [&](uint32_t unit, uint32_t place) {
    return tile + size_t{uint32_t{bases[unit] + place}} * columns;
  };
  auto write = [&](const Terms& terms, ValueId value, uint32_t row) {
    float* out = run.context.f32(value) + row * run.context.f32_stride(value) +
                 size_t{panels.panel0} * kPanelRows;
    if (terms.count == 0) return void(std::fill_n(out, columns, -0.0f));
    run.context.kernels().weighted_sum(
        {terms.vectors, terms.weights, terms.steps, terms.count, columns, out});
  };
  for (uint32_t r = rows.begin; r < rows.end; ++r) {
    for (const ExpertShard::Output& output : of.outputs) {
      Terms terms;
      for (size_t i = size_t{r} * choices.used; i < size_t{r + 1} * choices.used; ++i) {
        const int32_t unit = of.units.unit_of[choices.chosen[i]];
        if (unit < 0) continue;
        const uint32_t segment = of.segments[static_cast<size_t>(unit)];
        if (segment < output.segments.begin || segment >= output.segments.end) continue;
        terms.add(term(static_cast<uint32_t>(unit), choices.place[i]), choices.weights[i], segment);
      }
      terms.finish();
      write(terms, output.value, r);
    }
    if (!of.units.shared) continue;
    Terms alone;
    alone.add(term(of.units.count() - 1, r), shared_gate_ ? choices.shared[r] : 1, 0);
    write(alone, of.shared_output, r);
  }
}

namespace {

// If d distinct experts out of n are chosen, returns how many of them the busiest of s shards has,
// divided by the mean of all shards. The number on one shard is nearly normal, with the variance of
// the hypergeometric distribution. The numbers of all shards add up to d, which spreads them by s /
// (s - 1) compared with independent ones.
double busiest_share(double d, double n, double s) {
  if (s < 2 || n < 2 || d <= 0) return 1;
  const double mean = d / s;
  const double deviation = std::sqrt(d / s * (1 - 1 / s) * (n - d) / (n - 1));
  return 1 + deviation * std::sqrt(s / (s - 1)) * mean_greatest(static_cast<uint32_t>(s)) / mean;
}

}  // namespace

std::vector<ProductUse> ExpertsOp::products() const {
  std::vector<ProductUse> uses;
  for (const ExpertShard& of : shards_) {
    for (const ScheduledExpert* products : {&of.products, &of.shared_products}) {
      for (const ScheduledProduct* one : {&products->gate, &products->up, &products->down}) {
        uses.push_back(one->use());
      }
    }
  }
  return uses;
}

// Returns the mean load if all experts are equally likely, since routing is not known before a
// step.
OpLoad ExpertsOp::load(const StepSizes& step) const {
  const RouterRule& rule = layer_.rule;
  const double rows = step.rows, part = static_cast<double>(rule.used) / rule.experts;
  const double read = 1 - std::pow(1 - part, rows);
  const ExpertWeights& one = layer_.experts[0];
  OpLoad load;
  if (one.down->cut == CutBy::kWhole) {
    load.stretch = busiest_share(read * rule.experts, rule.experts,
                                 static_cast<double>(one.down->shards.size()));
  }
  for (const ExpertShard& of : shards_) {
    of.routed.add_to({.read = read, .rows = rows * part}, step.units, &load);
    of.all.add_to({.read = 1, .rows = rows}, step.units, &load);
    const double hidden = one.down->shards[of.shard].spec.k;
    const double mine = static_cast<double>(of.units.ids.size()) * part;  // choices of a row
    load.each_bytes += rows * one.gate->k * input_bytes({one.gate, one.up});
    load.shared_bytes += rows * mine * 2 * hidden * written_bytes(step.graph, of.hidden);
    const double outputs = static_cast<double>(of.outputs.size()) + (of.units.shared ? 1 : 0);
    load.shared_bytes += outputs * rows * one.down->rows * static_cast<double>(sizeof(float));
  }
  return load;
}

}  // namespace hearth
