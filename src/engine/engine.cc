#include "engine/engine.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/check.h"
#include "base/error.h"
#include "memory/arena.h"

namespace hearth {
namespace {

LanePlans lane_plans(const EngineLayout& layout) {
  return {layout.plan.prefill, layout.plan.decode, layout.limits, layout.options.schedules};
}

// Loads the model as the layout places it, by the team's threads.
std::shared_ptr<Model> load_laid_out(const ModelSource& source, const ModelSpec& spec,
                                     const Machine& machine, const EngineLayout& layout, Team& team,
                                     const LoadReport& report) {
  HEARTH_CHECK(!spec.policy.automatic, "the weights' types were chosen");
  const size_t total = spec.matrix_bytes();
  auto model =
      std::make_shared<Model>(spec, machine,
                              ModelPlacement{layout.plan.shard_nodes, layout.plan.shares,
                                             layout.options.binding(), layout.plan.experts});
  try {
    model->load(source, team, layout.member_shards(), [&](size_t done) {
      if (report) report(done, total);
    });
  } catch (const Error&) {
    // If the file was cut short during loading, that explains damaged weights better than their own
    // error.
    source.require_whole();
    throw;
  }
  source.require_whole();
  if (spec.policy.importance) spec.policy.importance->require_whole();
  return model;
}

}  // namespace

std::shared_ptr<Model> load_model(const ModelSource& source, const ModelSpec& spec,
                                  const Machine& machine, Isa isa, const EngineOptions& options,
                                  const LoadReport& report) {
  const EngineLayout layout = lay_out_engine(spec, machine, isa, options);
  Team team(layout.plan.placement, {.pin_caller = true});
  return load_laid_out(source, spec, machine, layout, team, report);
}

Engine::Engine(const ModelSource& source, const ModelSpec& spec, const Machine& machine, Isa isa,
               const EngineOptions& options, const LoadReport& report)
    : isa_(isa) {
  EngineLayout layout = lay_out_engine(spec, machine, isa, options);
  auto team = std::make_unique<Team>(layout.plan.placement, TeamOptions{.pin_caller = true});
  model_ = load_laid_out(source, spec, machine, layout, *team, report);
  start(machine, std::move(layout), std::move(team));
}

Engine::Engine(std::shared_ptr<const Model> model, const Machine& machine, Isa isa,
               const EngineOptions& options)
    : isa_(isa), model_(std::move(model)) {
  EngineLayout layout = lay_out_engine(*model_, machine, isa, options);
  auto team = std::make_unique<Team>(layout.plan.placement, TeamOptions{.pin_caller = true});
  start(machine, std::move(layout), std::move(team));
}

void Engine::start(const Machine& machine, EngineLayout layout, std::unique_ptr<Team> team) {
  machine_ = machine;
  layout_ = std::move(layout);
  spare_pus_ = hearth::spare_pus(machine, placement());
  memory_use_ = layout_.memory();
  memory_ = std::make_unique<EngineMemory>(machine, layout_, *model_);
  give_memory(make_pools(), memory_->hidden());
  logits_ = std::make_unique<StepLogits>(spec().hyper.vocabulary,
                                         layout_.options.outputs + layout_.options.scored_rows,
                                         model_->axes()[spec().vocabulary_axis].cuts);
  for (uint32_t s = 0; s < layout_.shard_count(); ++s) logits_->place(s, memory_->logits(s));
  scored_parts_ = logits_->parts_from(layout_.options.outputs);
  logits_->set_readers(team->size());
  scorer_ = std::make_unique<TokenScorer>(team->size());
  lane_ = std::make_unique<Lane>(std::move(team), model_, isa_, lane_plans(layout_),
                                 memory_->lane(), memory_->kv());
}

// Makes the pools of pages and states. An evicted KV page takes along the window page and the state
// that are kept with it.
Engine::Pools Engine::make_pools() {
  const KvView& kv = layout_.kv;
  Pools pools{std::make_unique<KvPool>(spec().has_kv_cache() ? kv.page_count() : 0,
                                       page_copier(KvKind::kFull))};
  if (spec().has_states()) {
    const uint32_t kept = layout_.options.kept_states;
    pools.states = std::make_unique<StatePool>(
        layout_.states.slots() - kept, kept, kv.page_count(),
        [this](uint32_t from, uint32_t to) { memory_->states().copy(from, to); });
  }
  if (kv.window() > 0) {
    pools.windows = std::make_unique<WindowPool>(kv.window(), kv.page_count(KvKind::kWindow),
                                                 kv.page_count(), page_copier(KvKind::kWindow));
  }
  pools.pages->set_on_evict(
      [states = pools.states.get(), windows = pools.windows.get()](uint32_t page) {
        if (states != nullptr) states->evict(page);
        if (windows != nullptr) windows->leave(page);
      });
  return pools;
}

void Engine::set_plan(const EnginePlan& plan, const ScheduleTable& schedules) {
  EngineLayout next = lay_out_again(layout_, *model_, isa_, plan, schedules);
  const MemoryUse use = next.memory();
  check_memory(use.activations + use.scratch, "the memory of another plan", machine_);
  for (uint32_t s = 0; machine_.binds_memory() && s < next.shard_count(); ++s) {
    check_node_memory(next.activation_bytes(s) + next.sync_bytes(s),
                      "a node's part of another plan", machine_, next.plan.shard_nodes[s]);
  }
  auto memory = std::make_unique<PlanMemory>(machine_, next);
  lane_->set_plans(lane_plans(next), memory_->lane_with(*memory));
  memory_->replace(std::move(memory));
  layout_ = std::move(next);
  memory_use_ = use;
}

KvPool::CopyPage Engine::page_copier(KvKind kind) const {
  return [this, kind](uint32_t from, uint32_t to) {
    const KvView& kv = memory_->kv();
    for (uint32_t s = 0; s < layout_.options.shards; ++s) {
      for (uint32_t layer = 0; layer < spec().layers.size(); ++layer) {
        const size_t bytes = kv.kind(layer) == kind ? kv.page_bytes(s, layer) : 0;
        if (bytes == 0) continue;
        std::memcpy(kv.page(s, layer, to, 0).k, kv.page(s, layer, from, 0).k, bytes);
      }
    }
  };
}

std::vector<std::string> Engine::warnings() const {
  std::vector<std::string> all = lane_->team().warnings(), notes = memory_->notes();
  all.insert(all.end(), notes.begin(), notes.end());
  return all;
}

bool Engine::run(StepView step, const Abandon* abandon) {
  step.logits = logits_->begin_step();
  step.states = &memory_->states();
  return lane_->run(step, abandon);
}

std::span<const float> Engine::logits(size_t i, uint32_t member) const {
  HEARTH_CHECK(i < view().logit_rows, "only wanted rows have logits");
  return logits_->row(i, member);
}

std::span<const TokenLogit> Engine::best(size_t i, uint32_t count, uint32_t below,
                                         uint32_t member) const {
  HEARTH_CHECK(i < view().logit_rows && view().sampled[i] != 0,
               "only rows to sample from have their best");
  return logits_->best(i, count, below, member);
}

// Runs only the head, since the activations of the last step are still in memory.
bool Engine::score(std::span<ScoredToken> tokens, uint32_t below, const Abandon* abandon) {
  HEARTH_CHECK(tokens.size() == scored_rows() && below <= spec().hyper.vocabulary,
               "every scored row has a token");
  if (tokens.empty()) return true;
  scorer_->prepare(tokens, below);
  const uint32_t first_row = layout_.options.outputs, most = layout_.options.scored_rows;
  const std::vector<uint8_t> none(most, 0);
  for (uint32_t done = 0; done < scored_rows(); done += most) {
    if (abandon != nullptr && (*abandon)()) return false;
    StepView head = view();
    head.first_logit = view().logit_rows + done;
    head.logit_rows = std::min(most, scored_rows() - done);
    head.logits = scored_parts_;
    head.sampled = none;
    lane_->run_head(head);
    std::atomic<uint32_t> next = 0;
    lane_->on_workers([&](uint32_t member) noexcept {
      for (uint32_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < head.logit_rows;) {
        scorer_->score(member, *logits_, first_row + i, below, &tokens[done + i]);
      }
    });
  }
  return true;
}

void Engine::prefill(Sequence& sequence, std::span<const int32_t> tokens) {
  size_t most = layout_.options.prefill_rows;
  for (size_t done = 0; done < tokens.size();) {
    size_t count = std::min(most, tokens.size() - done);
    bool last = done + count == tokens.size();
    StepRequest request{&sequence, tokens.subspan(done, count),
                        last ? Want::kLast : Want::kNothing};
    step({&request, 1});
    done += count;
  }
}

}  // namespace hearth
