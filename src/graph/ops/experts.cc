#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "graph/ops/experts_op.h"
#include "graph/ops/gemm_tasks.h"

namespace hearth {
namespace {

bool holds(const Weight& down, uint32_t shard) {
  const PackSpec& spec = down.shards[shard].spec;
  return spec.rows > 0 && spec.k > 0;
}

// Appends the experts of a layer to a graph.
class ExpertsBuilder {
 public:
  ExpertsBuilder(GraphBuilder& builder, const Bundle& x, const Bundle& logits,
                 const ExpertLayer& layer)
      : builder_(builder),
        x_(x),
        logits_(logits),
        layer_(layer),
        cuts_(expert_cuts(layer.experts)) {
    if (layer.shared.down != nullptr) shared_cuts_ = expert_cuts({&layer.shared, 1});
  }

  Partials append(std::string name) {
    const ExpertWeights& one = layer_.experts[0];
    Partials partials{{{}, {}, cuts_}, one.down->rows};
    if (shared_cuts_) partials.last = {{}, {}, *shared_cuts_};
    Bundle hidden, choices;
    std::vector<std::unique_ptr<Op>> ops;
    for (uint32_t g = 0; g < builder_.group_count(); ++g) {
      const ValueId choice = builder_.add_value(RowSet::kTokens, choice_width(), g);
      choices.values.push_back(choice);
      ops.push_back(std::make_unique<ExpertsOp>(x_.values[g], logits_.values[g], choice, layer_,
                                                first_shard(builder_, g), gate_of(g),
                                                shards_of(g, &partials, &hidden)));
    }
    read_inputs();
    builder_.reads(choices, ActFormat::kF32);
    builder_.writes(hidden);
    builder_.writes(choices);
    builder_.writes(partials.tree.bundle);
    if (partials.last) builder_.writes(partials.last->bundle);
    builder_.append(Mode::kParallel, std::move(name), std::move(ops));
    return partials;
  }

 private:
  // Returns whether shard s is the first that holds columns of its experts' downs, and so adds
  // their bias. Experts are either all cut in the same way, or each lies whole on one shard.
  bool is_first_holder(uint32_t s) const {
    const Weight& down = *layer_.experts[0].down;
    for (uint32_t before = 0; before < s && down.cut != CutBy::kWhole; ++before) {
      if (holds(down, before)) return false;
    }
    return true;
  }

  const uint32_t* gate_of(uint32_t g) const {
    return layer_.shared_gates.empty() ? nullptr : &layer_.shared_gates[g];
  }

  // Returns how many words a row needs for the choices of the longest step.
  uint32_t choice_width() const {
    const uint32_t rows = std::max(builder_.plan().max_rows, 1u);
    return static_cast<uint32_t>((choice_words(rows, layer_.rule) + rows - 1) / rows);
  }

  void read_inputs() {
    auto reads = [&](const ExpertWeights& weights) {
      builder_.reads(x_, format_for(*weights.gate));
      builder_.reads(x_, format_for(*weights.up));
    };
    reads(layer_.experts[0]);
    if (layer_.shared.gate != nullptr) reads(layer_.shared);
    // Experts with column orders of their own gather elements of x in f32.
    if (gathers_elements()) builder_.reads(x_, ActFormat::kF32);
    builder_.reads(logits_, ActFormat::kF32);
  }

  bool gathers_elements() const {
    auto ordered = [](const ExpertWeights& of) { return of.gate->order != nullptr; };
    return std::ranges::any_of(layer_.experts, ordered) ||
           (layer_.shared.gate != nullptr && ordered(layer_.shared));
  }

  std::vector<ExpertShard> shards_of(uint32_t g, Partials* partials, Bundle* hidden) {
    const PlanGroup& group = builder_.plan().groups[g];
    std::vector<ExpertShard> shards;
    for (uint32_t s = group.share.shard_begin; s < group.share.shard_end; ++s) {
      shards.push_back(units_of(s, group.share.segments(cuts_, s)));
      ExpertShard& of = shards.back();
      GroupShare alone = group.share;
      alone.shard_begin = s;
      alone.shard_end = s + 1;
      for (const Piece& piece : pieces_of(cuts_, alone)) {
        of.outputs.push_back({piece.segments, add_output(g)});
        partials->tree.pieces.push_back(piece);
        partials->tree.bundle.values.push_back(of.outputs.back().value);
      }
      if (shared_cuts_) add_shared(pieces_of(*shared_cuts_, alone), g, &of, &*partials->last);
      of.hidden = add_hidden(RowSet::kChoices, g, *layer_.experts[0].down, s, hidden);
      if (layer_.shared.down != nullptr) {
        of.shared_hidden = add_hidden(RowSet::kTokens, g, *layer_.shared.down, s, hidden);
      }
      of.shape = shape_of(of, threads_per_shard(group));
      schedule(g, &of);
    }
    return shards;
  }

  // Looks up the schedules of the shard's products.
  void schedule(uint32_t g, ExpertShard* of) const {
    const Cutting cutting = cutting_of(builder_, g);
    auto products = [&](const ExpertWeights& weights, uint32_t matrices, uint32_t experts) {
      auto one = [&](const Weight& weight, bool is_down) {
        const PackSpec& spec = weight.shards[of->shard].spec;
        const uint32_t all = matrices * spec.panels();
        return cutting.side_by_side(
            spec, spec.panels(), matrices, experts,
            is_down ? of->shape.out_step : long_task_panels(all, cutting.threads));
      };
      return ScheduledExpert{one(*weights.gate, false), one(*weights.up, false),
                             one(*weights.down, true)};
    };
    if (!of->units.ids.empty()) {
      of->products =
          products(layer_.experts[of->units.ids[0]], layer_.rule.used, layer_.rule.experts);
    }
    if (of->units.shared) of->shared_products = products(layer_.shared, 1, 0);
  }

  // Adds the shared expert. `pieces` are the group's partial sums of this expert on the shard; if
  // they are empty, the group does not compute it.
  void add_shared(const std::vector<Piece>& pieces, uint32_t g, ExpertShard* of,
                  PartialTree* tree) {
    if (pieces.empty()) return;
    of->units.shared = true;
    of->shared_output = add_output(g);
    add_work(layer_.shared, of->shard, &of->all);
    tree->pieces.push_back(pieces[0]);
    tree->bundle.values.push_back(of->shared_output);
  }

  // Returns the routed experts of shard s in these segments, as units.
  ExpertShard units_of(uint32_t s, const UnitRange& segments) const {
    ExpertShard of{};
    of.shard = s;
    of.adds_down_bias = is_first_holder(s);
    of.units.unit_of.assign(layer_.experts.size(), -1);
    uint32_t unit = cuts_.shard(s).begin;
    auto segment_of = [&](uint32_t at) {
      uint32_t segment = 0;
      while (cuts_.segments(s)[segment].end <= at) ++segment;
      return segment;
    };
    auto mine = [&](const Weight& down) {
      if (!holds(down, s)) return false;
      const uint32_t segment = segment_of(unit++);
      if (segment < segments.begin || segment >= segments.end) return false;
      of.segments.push_back(segment);
      return true;
    };
    for (uint32_t e = 0; e < layer_.experts.size(); ++e) {
      if (!mine(*layer_.experts[e].down)) continue;
      of.units.unit_of[e] = static_cast<int32_t>(of.units.ids.size());
      of.units.ids.push_back(e);
      add_work(layer_.experts[e], s, &of.routed);
    }
    return of;
  }

  static void add_work(const ExpertWeights& weights, uint32_t s, WeightWork* work) {
    for (const Weight* weight : {weights.gate, weights.up, weights.down}) work->add(*weight, s);
  }

  ValueId add_output(uint32_t g) {
    const uint32_t rows = layer_.experts[0].down->rows;
    return builder_.add_value(RowSet::kTokens, (rows + kPanelRows - 1) / kPanelRows * kPanelRows,
                              g);
  }

  // Adds the value that down reads. The node both writes and reads it, so no other value shares its
  // memory while the op runs.
  ValueId add_hidden(RowSet rows, uint32_t g, const Weight& down, uint32_t s, Bundle* hidden) {
    const uint32_t width = std::max(down.shards[s].spec.k, kBlock);
    const ValueId value = builder_.add_value(rows, width, g);
    hidden->values.push_back(value);
    builder_.reads({{value}}, format_for(down));
    return value;
  }

  ExpertTasks::Shape shape_of(const ExpertShard& of, uint32_t threads) const {
    const ExpertWeights& one = layer_.experts[0];
    size_t row_bytes = act_bytes(format_for(*one.gate), 1, one.gate->k);
    if (format_for(*one.up) != format_for(*one.gate)) {
      row_bytes += act_bytes(format_for(*one.up), 1, one.gate->k);
    }
    auto rows = static_cast<uint32_t>((kExpertTileBytes - kExpertProductBytes) / row_bytes);
    rows = std::min(rows >= 16 ? rows / 16 * 16 : std::max(rows, 1u), kTaskRows);
    auto panels = [&](const Weight& gate) {
      return (gate.shards[of.shard].spec.rows + kPanelRows - 1) / kPanelRows;
    };
    ExpertTasks::Shape shape{};
    uint32_t whole = 0;  // panels of an expert on this shard
    for (uint32_t id : of.units.ids) whole = std::max(whole, panels(*layer_.experts[id].gate));
    shape.panels = whole;
    shape.shared_panels = of.units.shared ? panels(*layer_.shared.gate) : 0;
    shape.block_rows = rows;
    shape.threads = threads;
    shape.out_panels = (one.down->rows + kPanelRows - 1) / kPanelRows;
    // A task of down has four panels if the tile holds so many for all rows, else two.
    const uint32_t sums = layer_.rule.used + (of.units.shared ? 1 : 0);
    const size_t panel_rows = kExpertTileBytes / (size_t{sums} * kPanelRows * sizeof(float));
    shape.out_step = panel_rows / 4 >= builder_.plan().max_rows ? 4 : 2;
    shape.out_rows =
        static_cast<uint32_t>(std::min<size_t>(panel_rows / shape.out_step, uint32_t{1} << 16));
    return shape;
  }

  GraphBuilder& builder_;
  const Bundle& x_;
  const Bundle& logits_;
  const ExpertLayer& layer_;
  AxisCuts cuts_;
  std::optional<AxisCuts> shared_cuts_;  // set if there is a shared expert
};

}  // namespace

AxisCuts expert_cuts(std::span<const ExpertWeights> experts) {
  std::vector<uint32_t> counts(experts[0].down->shards.size(), 0);
  for (const ExpertWeights& expert : experts) {
    for (uint32_t s = 0; s < counts.size(); ++s) counts[s] += holds(*expert.down, s) ? 1 : 0;
  }
  return {std::accumulate(counts.begin(), counts.end(), 0u), 1, counts};
}

Partials experts(GraphBuilder& builder, std::string name, const Bundle& x, const Bundle& logits,
                 const ExpertLayer& layer) {
  HEARTH_CHECK(layer.experts.size() == layer.rule.experts, "the router knows every expert");
  const ExpertWeights& one = layer.experts[0];
  for (auto [bias, weight] : {std::pair{layer.gate_bias, one.gate},
                              {layer.up_bias, one.up},
                              {layer.down_bias, one.down}}) {
    HEARTH_CHECK(bias == nullptr || bias->size == layer.rule.experts * weight->rows,
                 "a bias for a row of each expert");
  }
  return ExpertsBuilder(builder, x, logits, layer).append(std::move(name));
}

}  // namespace hearth
