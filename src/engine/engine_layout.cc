#include "engine/engine_layout.h"

#include <algorithm>
#include <optional>

#include "base/bytes_text.h"
#include "base/error.h"
#include "cost/cost_model.h"
#include "engine/kv_pool.h"
#include "engine/kv_size.h"
#include "engine/shard_shares.h"
#include "engine/step_logits.h"
#include "graph/sync_layout.h"

namespace hearth {

namespace {

// Sets the sizes of both phases' graphs.
void measure_graphs(const ModelSpec& spec, const WeightTable& weights, Isa isa,
                    EngineLayout* layout) {
  auto sizes_of = [&](const Plan& plan) -> PhaseSizes {
    const Graph graph = build_graph(spec, weights, plan, kernels_for(isa), layout->limits,
                                    layout->options.schedules);
    return {graph.activation_bytes, SyncLayout(graph).bytes};
  };
  layout->prefill = sizes_of(layout->plan.prefill);
  layout->decode = sizes_of(layout->plan.decode);
}

// Returns the KV heads that a layer caches on a shard. Latents count once for each group that
// shares the shard, in the phase with more groups.
uint32_t cached_heads(const KeptRows& kept, const std::vector<CutAxis>& axes, uint32_t shard,
                      const EnginePlan& plan) {
  const uint32_t heads = axes[kept.axis].cuts.shard(shard).size();
  if (!kept.latent || heads == 0) return heads;
  uint32_t copies = 1;
  for (const Plan* phase : {&plan.prefill, &plan.decode}) {
    for (const PlanGroup& group : phase->groups) {
      const bool here = group.share.shard_begin <= shard && shard < group.share.shard_end;
      if (here) copies = std::max(copies, group.share.parts);
    }
  }
  return copies;
}

KvView lay_out_kv(const ModelSpec& spec, const std::vector<CutAxis>& axes, uint32_t shards,
                  const EnginePlan& plan, const EngineOptions& options) {
  std::vector<KvLayer> layers;
  const uint32_t window = options.gives_back ? spec.kept_window() : 0;
  for (uint32_t layer = 0; layer < spec.layers.size(); ++layer) {
    const std::optional<KeptRows> kept = spec.kept(layer);
    KvLayer& kv = layers.emplace_back();
    if (kept) kv = {kept->key_length, kept->value_length, {}, kv_kind(window, *kept)};
    for (uint32_t s = 0; s < shards; ++s) {
      kv.heads.push_back(kept ? cached_heads(*kept, axes, s, plan) : 0);
    }
  }
  uint32_t pages =
      options.kv_pages != 0 ? options.kv_pages : options.sequences * pages_for(options.context);
  return {options.kv_type, pages, shards, layers, window};
}

// Lays out the states' slots: one for each sequence that may run at a time, and the kept ones.
// Empty if no layer keeps states.
StateView lay_out_states(const ModelSpec& spec, const std::vector<CutAxis>& axes, uint32_t shards,
                         const EngineOptions& options) {
  if (!spec.has_states()) return {};
  std::vector<std::vector<size_t>> floats;
  for (uint32_t layer = 0; layer < spec.layers.size(); ++layer) {
    const std::optional<KeptState> kept = spec.kept_state(layer);
    std::vector<size_t>& of_layer = floats.emplace_back(shards, 0);
    for (uint32_t s = 0; kept && s < shards; ++s) {
      const CutAxis& axis = axes[kept->axis];
      of_layer[s] = kept->item_floats * axis.cuts.shard(s).size() * axis.unit_items;
    }
  }
  return {options.sequences + options.kept_states, shards, floats};
}

// Computes the sizes of everything, with the weights cut by the plan's shares.
void measure(const ModelSpec& spec, Isa isa, EngineLayout* layout) {
  std::vector<CutAxis> axes = cut_axes(spec, layout->plan.shares);
  WeightTable weights(spec, axes, deal_experts(spec, layout->plan.shares, layout->plan.experts));
  const EngineOptions& options = layout->options;
  // One step may want the most logits, the most hidden states, and scores of all of its rows.
  const uint32_t scored = options.scored_rows > 0 ? options.prefill_rows : 0;
  layout->limits = {options.outputs + options.hidden_rows + scored, options.items, options.context};
  check_schedules(options.schedules, kernels_for(isa));
  measure_graphs(spec, weights, isa, layout);
  layout->kv = lay_out_kv(spec, axes, layout->shard_count(), layout->plan, options);
  set_kv_pages(layout, layout->kv.page_count());
  layout->states = lay_out_states(spec, axes, layout->shard_count(), options);
  layout->weight_bytes.clear();
  layout->logit_bytes.clear();
  StepLogits logits(spec.hyper.vocabulary, options.outputs + options.scored_rows,
                    axes[spec.vocabulary_axis].cuts);
  for (uint32_t s = 0; s < layout->shard_count(); ++s) {
    layout->weight_bytes.push_back(weights.shard_bytes(s));
    layout->logit_bytes.push_back(logits.bytes(s));
  }
  layout->hidden_bytes = options.hidden_rows * size_t{spec.hyper.width} * sizeof(float);
}

// Returns the KV pages that were asked for, or else the fewest that are needed.
uint32_t min_kv_pages(const EngineLayout& layout) {
  const EngineOptions& options = layout.options;
  if (options.kv_pages != 0) return options.kv_pages;
  uint32_t least = pages_for(options.min_context);
  if (options.kv_bytes == 0 || kv_bytes(layout, 1) == 0) return least;
  constexpr uint64_t kMax = UINT32_MAX - 1;
  const UnitRoom room{0, [&](uint64_t pages) { return kv_bytes(layout, pages); }};
  const auto held = static_cast<uint32_t>(units_in(options.kv_bytes, kMax, room));
  if (held < least) {
    fail_field(ErrorCode::kUsage, "kv_bytes",
               "of {} holds {} tokens, and one context of {} tokens takes {}: raise it or lower "
               "the context",
               bytes_text(options.kv_bytes), uint64_t{held} * kPagePositions, options.min_context,
               bytes_text(kv_bytes(layout, least)));
  }
  return held;
}

// Moves parts of shards from nodes that are too small to other nodes. Heads are cut in coarse
// steps, so a shard that was cut to fit may still be too large; the next attempt then cuts it
// smaller.
void cut_to_fit(const ModelSpec& spec, const Machine& machine, Isa isa, EngineLayout* layout) {
  constexpr uint32_t kAttempts = 6;
  const EngineOptions& options = layout->options;
  uint32_t min_pages = min_kv_pages(*layout);
  // If KV pages get a share of the memory that is left, the fullest node needs room for the pages
  // of one context.
  if (options.asks_kv_size() && options.kv_bytes == 0) {
    min_pages = std::max(min_pages, pages_for(std::min(options.context, kDefaultContext)));
  }
  for (uint32_t attempt = 0; machine.binds_memory() && attempt < kAttempts; ++attempt) {
    std::vector<uint64_t> bytes, room;
    bool fits = true;
    for (uint32_t s = 0; s < layout->shard_count(); ++s) {
      uint32_t node = machine.memory_node(layout->plan.shard_nodes[s]);
      uint64_t there = machine.nodes[node].available_bytes;
      if (there == 0) return;  // the memory is unknown
      uint64_t work = layout->work_bytes(s), left = there > work ? there - work : 0;
      bytes.push_back(layout->weight_bytes[s] + kv_bytes(*layout, s, min_pages));
      fits = fits && bytes[s] <= left;
      room.push_back(left - left / 16 * attempt);
    }
    if (fits) return;
    std::vector<uint32_t> shares = shares_that_fit(layout->plan.shares, bytes, room);
    if (shares == layout->plan.shares) return;
    layout->plan.shares = std::move(shares);
    measure(spec, isa, layout);
  }
}

// Returns how many units, at most `most`, fit on every node into this share of the memory that all
// other data leaves; nothing if the memory is unknown.
template <typename OfShard>
std::optional<uint32_t> units_that_fit(const Machine& machine, const EngineLayout& layout,
                                       double share, uint64_t most, const UnitRoom& of_all,
                                       const OfShard& of_shard) {
  bool known = false;
  auto limit = [&](uint64_t available, const UnitRoom& room) {
    if (available == 0 || room.bytes(1) == 0) return;
    known = true;
    double left =
        available > room.others ? static_cast<double>(available - room.others) * share : 0;
    most = units_in(static_cast<uint64_t>(left), most, room);
  };
  if (machine.source != MachineSource::kDescribed) limit(machine.memory_available, of_all);
  for (uint32_t s = 0; machine.binds_memory() && s < layout.shard_count(); ++s) {
    uint32_t node = machine.memory_node(layout.plan.shard_nodes[s]);
    limit(machine.nodes[node].available_bytes, of_shard(s));
  }
  if (!known) return std::nullopt;
  return static_cast<uint32_t>(most);
}

std::optional<uint32_t> kv_pages_that_fit(const Machine& machine, const EngineLayout& layout,
                                          double share, uint64_t most) {
  const UnitRoom of_all{layout.memory().total() - layout.memory().kv,
                        [&](uint64_t pages) { return kv_bytes(layout, pages); }};
  return units_that_fit(machine, layout, share, most, of_all, [&](uint32_t s) {
    return UnitRoom{layout.shard_bytes(s) - layout.kv.shard_bytes(s),
                    [&layout, s](uint64_t pages) { return kv_bytes(layout, s, pages); }};
  });
}

// Returns the pages that fit into the bytes asked for, or into a share of the memory that is left.
uint32_t sized_kv_pages(const Machine& machine, const EngineLayout& layout) {
  constexpr uint64_t kMax = UINT32_MAX - 1;
  const EngineOptions& options = layout.options;
  uint32_t least = min_kv_pages(layout);
  if (options.kv_bytes == 0) {
    // More pages than the engine's sequences can fill would only keep pages of ended texts.
    const uint64_t most = uint64_t{options.sequences} * pages_for(options.context);
    return std::max(least,
                    kv_pages_that_fit(machine, layout, options.kv_share, std::min(kMax, most))
                        .value_or(layout.kv_pages_wanted));
  }
  std::optional<uint32_t> fits = kv_pages_that_fit(machine, layout, 1, least);
  if (fits && *fits < least) {
    fail_field(ErrorCode::kResource, "kv_bytes",
               "of {} is more than the {} that are free besides weights and activations: lower it, "
               "or free memory",
               bytes_text(options.kv_bytes), bytes_text(kv_bytes(layout, *fits)));
  }
  return least;
}

// Returns how many kept states fit into this share of the memory that is left by all but KV pages.
std::optional<uint32_t> states_that_fit(const Machine& machine, const EngineLayout& layout,
                                        double share, uint64_t most) {
  const auto room = [](uint64_t others, uint64_t slot) {
    return UnitRoom{others, [slot](uint64_t slots) { return slot * slots; }};
  };
  return units_that_fit(
      machine, layout, share, most,
      room(layout.memory().total() - layout.memory().kv, layout.states.slot_bytes()),
      [&](uint32_t s) {
        return room(layout.shard_bytes(s) - layout.kv.shard_bytes(s), layout.states.slot_bytes(s));
      });
}

// Returns how many states fit into the state_bytes asked for. Throws Error (kResource) if the
// memory has fewer bytes.
uint32_t states_of_bytes(const Machine& machine, const EngineLayout& layout) {
  constexpr uint64_t kMax = UINT32_MAX / 2;
  const uint64_t bytes = layout.options.state_bytes, slot = layout.states.slot_bytes();
  if (bytes < slot) {
    fail_field(ErrorCode::kUsage, "state_bytes",
               "of {} is too small for one state of {}: raise it, or give 0 to save no states",
               bytes_text(bytes), bytes_text(slot));
  }
  const auto asked = static_cast<uint32_t>(std::min(kMax, bytes / slot));
  const std::optional<uint32_t> fits = states_that_fit(machine, layout, 1, asked);
  if (fits && *fits < asked) {
    fail_field(ErrorCode::kResource, "state_bytes",
               "of {} is more than the {} that are free besides weights and activations: lower it, "
               "or free memory",
               bytes_text(bytes), bytes_text(*fits * slot));
  }
  return asked;
}

void settle_states(const Machine& machine, EngineLayout* layout) {
  EngineOptions& options = layout->options;
  if (layout->states.slot_bytes() == 0) options.kept_states = 0;
  if (layout->states.slot_bytes() == 0 || options.kept_states != 0) return;
  if (options.state_bytes != 0) {
    options.kept_states = states_of_bytes(machine, *layout);
  } else if (options.state_share > 0) {
    const uint64_t most = uint64_t{kMaxSharedStates} * options.sequences;
    options.kept_states = states_that_fit(machine, *layout, options.state_share, most)
                              .value_or(static_cast<uint32_t>(most));
  }
  layout->states.set_slots(options.sequences + options.kept_states);
}

// Returns how many KV pages are wanted: the number asked for; the fewest needed, if kv_bytes
// decides; else enough for all sequences, each of its context or kDefaultContext if that is less.
uint32_t wanted_kv_pages(const EngineLayout& layout) {
  const EngineOptions& options = layout.options;
  if (!options.asks_kv_size()) return layout.kv.page_count();
  if (options.kv_bytes != 0) return min_kv_pages(layout);
  return options.sequences * pages_for(std::min(options.context, kDefaultContext));
}

// Takes fewer pages than the default if memory holds no more. Sequences then take turns in a
// smaller pool. A context that the user did not set is lowered to the length that the pages hold.
void settle_kv_pages(const Machine& machine, EngineLayout* layout) {
  EngineOptions& options = layout->options;
  const KvView& kv = layout->kv;
  if (kv_bytes(*layout, 1) != 0) {
    layout->kv_pages_wanted = wanted_kv_pages(*layout);
    if (options.asks_kv_size()) {
      set_kv_pages(layout, sized_kv_pages(machine, *layout));
    } else if (options.kv_pages == 0) {
      std::optional<uint32_t> fits = kv_pages_that_fit(machine, *layout, 1, kv.page_count());
      set_kv_pages(layout, std::max(fits.value_or(kv.page_count()), min_kv_pages(*layout)));
    }
    check_window_pages(*layout);
    uint64_t held = uint64_t{kv.page_count()} * kPagePositions;
    options.context = static_cast<uint32_t>(std::min<uint64_t>(options.context, held));
    layout->limits.context = options.context;
  }
  options.kv_pages = kv.page_count();
  options.window_pages = kv.page_count(KvKind::kWindow);
}

// Chooses how experts are cut, if the options leave it open: in the way that is predicted to decode
// a token sooner. The prediction uses assumed bandwidths, the same for both ways.
void choose_expert_cut(const ModelSpec& spec, const Machine& machine, EngineLayout* layout) {
  EnginePlan& plan = layout->plan;
  const bool said = layout->options.experts || layout->options.plan;
  if (said || spec.expert_count() == 0 || layout->shard_count() == 1) return;
  const BandwidthTable table = assumed_bandwidth(machine);
  auto seconds = [&](ExpertCut cut) {
    PlacedPlan placed{plan.decode, plan.placement, plan.shard_nodes, plan.shares};
    placed.experts = cut;
    return predict_step(machine, table, spec, placed, {.rows = 1}).seconds;
  };
  const bool spread = seconds(ExpertCut::kSpread) < seconds(ExpertCut::kCut);
  plan.experts = spread ? ExpertCut::kSpread : ExpertCut::kCut;
}

void settle(const ModelSpec& spec, EngineLayout* layout) {
  EngineOptions& options = layout->options;
  options.shards = layout->shard_count();
  options.prefill_rows = layout->plan.prefill.max_rows;
  options.decode_rows = layout->plan.decode.max_rows;
  settle_options(spec, &options);
  layout->plan.prefill.max_rows = options.prefill_rows;
  layout->plan.decode.max_rows = options.decode_rows;
}

}  // namespace

size_t EngineLayout::activation_bytes(uint32_t shard) const {
  size_t most = 0;
  for (Phase phase : {Phase::kPrefill, Phase::kDecode}) {
    size_t bytes = 0;
    const std::vector<PlanGroup>& groups = plan.of(phase).groups;
    for (size_t g = 0; g < groups.size(); ++g) {
      if (groups[g].share.shard_begin == shard) bytes += sizes(phase).activations[g];
    }
    most = std::max(most, bytes);
  }
  return most;
}

size_t EngineLayout::sync_bytes(uint32_t shard) const {
  return prefill.sync[shard] + decode.sync[shard];
}

size_t EngineLayout::work_bytes(uint32_t shard) const {
  auto members =
      static_cast<size_t>(std::count(member_shards().begin(), member_shards().end(), shard));
  return sync_bytes(shard) + activation_bytes(shard) + states.shard_bytes(shard) +
         members * kOpScratchBytes + logit_bytes[shard] + (shard == 0 ? hidden_bytes : 0);
}

size_t EngineLayout::shard_bytes(uint32_t shard) const {
  return weight_bytes[shard] + kv.shard_bytes(shard) + work_bytes(shard);
}

MemoryUse EngineLayout::memory() const {
  MemoryUse use;
  use.scratch = member_shards().size() * kOpScratchBytes;
  for (uint32_t s = 0; s < shard_count(); ++s) {
    use.weights += weight_bytes[s];
    use.kv += kv.shard_bytes(s);
    use.states += states.shard_bytes(s);
    use.activations += activation_bytes(s);
    use.scratch += sync_bytes(s);
    use.logits += logit_bytes[s];
  }
  use.logits += hidden_bytes;
  return use;
}

EngineLayout lay_out_engine(const ModelSpec& spec, const Machine& machine, Isa isa,
                            const EngineOptions& options) {
  EngineLayout layout;
  layout.options = options;
  layout.plan = plan_engine(machine, options);
  choose_expert_cut(spec, machine, &layout);
  settle(spec, &layout);
  measure(spec, isa, &layout);
  settle_states(machine, &layout);
  cut_to_fit(spec, machine, isa, &layout);
  settle_kv_pages(machine, &layout);
  check_memory(layout.memory().total(), "the model", machine);
  for (uint32_t s = 0; machine.binds_memory() && s < layout.shard_count(); ++s) {
    check_node_memory(layout.shard_bytes(s), "a node's part of the model", machine,
                      layout.plan.shard_nodes[s]);
  }
  return layout;
}

EngineLayout lay_out_again(const EngineLayout& now, const Model& model, Isa isa, EnginePlan plan,
                           const ScheduleTable& schedules) {
  check_engine_plan(plan);
  check_schedules(schedules, kernels_for(isa));
  check_same_cut(now.plan, plan);
  if (plan.prefill.max_rows != now.options.prefill_rows ||
      plan.decode.max_rows > now.options.prefill_rows) {
    fail(ErrorCode::kUsage,
         "the plan has max_rows {} in prefill and {} in decode, and the engine was loaded for {}: "
         "give prefill exactly that many, and decode no more",
         plan.prefill.max_rows, plan.decode.max_rows, now.options.prefill_rows);
  }
  EngineLayout layout = now;
  layout.plan = std::move(plan);
  layout.options.decode_rows = layout.plan.decode.max_rows;
  layout.options.schedules = schedules;
  const KvView kv =
      lay_out_kv(model.spec(), model.axes(), layout.shard_count(), layout.plan, layout.options);
  for (uint32_t s = 0; s < layout.shard_count(); ++s) {
    for (uint32_t layer = 0; layer < model.spec().layers.size(); ++layer) {
      if (kv.heads(s, layer) <= layout.kv.heads(s, layer)) continue;
      fail(ErrorCode::kUsage,
           "the plan has {} groups on shard {}, and the KV cache holds copies of latents for only "
           "{}: use fewer groups, or load the model with this plan",
           kv.heads(s, layer), s, layout.kv.heads(s, layer));
    }
  }
  measure_graphs(model.spec(), model.weights(), isa, &layout);
  return layout;
}

EngineLayout lay_out_engine(const Model& model, const Machine& machine, Isa isa,
                            const EngineOptions& options) {
  EngineLayout layout;
  layout.options = options;
  layout.plan = plan_engine(machine, options, &model.placement());
  settle(model.spec(), &layout);
  measure(model.spec(), isa, &layout);
  // The loaded model already has the memory of its weights, so they count 0 bytes here.
  std::vector<size_t> weights = std::move(layout.weight_bytes);
  layout.weight_bytes.assign(layout.shard_count(), 0);
  settle_states(machine, &layout);
  settle_kv_pages(machine, &layout);
  check_memory(layout.memory().total(), "one more engine on the model", machine);
  layout.weight_bytes = std::move(weights);
  return layout;
}

}  // namespace hearth
