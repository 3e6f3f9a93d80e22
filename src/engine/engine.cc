#include "engine/engine.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/check.h"
#include "base/error.h"
#include "memory/arena.h"

namespace hearth {
namespace {

bool wants_hidden(Want want, bool first, bool last) {
  return want == Want::kHidden || (want == Want::kHiddenFirst && first) ||
         (want == Want::kHiddenLast && last);
}

LanePlans lane_plans(const EngineLayout& layout) {
  return {layout.plan.prefill, layout.plan.decode, layout.limits, layout.options.schedules};
}

}  // namespace

Engine::Engine(const ModelSource& source, const ModelSpec& spec, const Machine& machine, Isa isa,
               const EngineOptions& options, const Report& report)
    : isa_(isa) {
  HEARTH_CHECK(!spec.policy.automatic, "the weights' types were chosen");
  EngineLayout layout = lay_out_engine(spec, machine, isa, options);
  auto team = std::make_unique<Team>(layout.plan.placement, TeamOptions{.pin_caller = true});
  const size_t total = spec.matrix_bytes();
  auto model = std::make_shared<Model>(spec, machine,
                                       ModelPlacement{layout.plan.shard_nodes, layout.plan.shares,
                                                      options.binding(), layout.plan.experts});
  try {
    model->load(source, *team, layout.member_shards(), [&](size_t done) {
      if (report) report(done, total);
    });
  } catch (const Error&) {
    // The reason of what was wrong with the weights.
    source.require_whole();
    throw;
  }
  source.require_whole();
  if (spec.policy.importance) spec.policy.importance->require_whole();
  model_ = std::move(model);
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
  pool_ = std::make_unique<KvPool>(spec().has_kv_cache() ? layout_.kv.page_count() : 0,
                                   [this](uint32_t from, uint32_t to) { copy_page(from, to); });
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

void Engine::copy_page(uint32_t from, uint32_t to) const {
  const KvView& kv = memory_->kv();
  for (uint32_t s = 0; s < layout_.options.shards; ++s) {
    for (uint32_t layer = 0; layer < spec().layers.size(); ++layer) {
      const size_t bytes = kv.page_bytes(s, layer);
      if (bytes == 0) continue;
      std::memcpy(kv.page(s, layer, to, 0).k, kv.page(s, layer, from, 0).k, bytes);
    }
  }
}

std::vector<std::string> Engine::warnings() const {
  std::vector<std::string> all = lane_->team().warnings(), notes = memory_->notes();
  all.insert(all.end(), notes.begin(), notes.end());
  return all;
}

void Engine::check(std::span<const StepRequest> requests) const {
  uint32_t pages = 0;
  for (const StepRequest& request : requests) {
    size_t length = request.sequence->length() + request.tokens.size();
    if (length > layout_.options.context) {
      fail_field(ErrorCode::kRequest, "context",
                 "of {} positions does not hold a sequence of {} tokens: raise it or shorten the "
                 "sequence",
                 layout_.options.context, length);
    }
    for (int32_t token : request.tokens) {
      if (token < 0 || static_cast<uint32_t>(token) >= spec().hyper.vocabulary) {
        fail(ErrorCode::kRequest, "token {} is outside the vocabulary of {}", token,
             spec().hyper.vocabulary);
      }
    }
    if (spec().is_encoder() && (request.want == Want::kLast || request.want == Want::kAll)) {
      fail(ErrorCode::kRequest, "the model is an encoder: it gives hidden states and no logits");
    }
    if (!spec().has_kv_cache() && request.sequence->length() > 0) {
      fail(ErrorCode::kRequest,
           "the model keeps nothing of a text from step to step: give all its tokens at once");
    }
    pages += request.sequence->pages_needed(static_cast<uint32_t>(request.tokens.size()));
  }
  if (pages > pool_->available()) {
    fail(ErrorCode::kRequest,
         "{} KV pages are needed and {} are free: end a sequence or load with more", pages,
         pool_->available());
  }
}

// Puts the rows of logits first into outputs_, then those that are scored.
void Engine::lay_out(std::span<const StepRequest> requests) {
  tokens_.clear();
  positions_.clear();
  row_items_.clear();
  outputs_.clear();
  sampled_.clear();
  second_.clear();
  items_.clear();
  const bool has_second{spec().embedding.second_type};
  std::vector<uint32_t> scored, hidden;
  for (const StepRequest& request : requests) {
    HEARTH_CHECK(!request.tokens.empty(), "a request has tokens");
    auto first_row = static_cast<uint32_t>(tokens_.size());
    auto rows = static_cast<uint32_t>(request.tokens.size());
    HEARTH_CHECK(request.scored == 0 || (layout_.options.scored_rows > 0 &&
                                         (request.want == Want::kNothing ||
                                          (request.want == Want::kLast && request.scored < rows))),
                 "scored rows have room, and are wanted for nothing else");
    uint32_t first_position = request.sequence->length();
    request.sequence->grow(request.tokens);
    for (uint32_t r = 0; r < rows; ++r) {
      tokens_.push_back(request.tokens[r]);
      positions_.push_back(first_position + r);
      row_items_.push_back(static_cast<uint32_t>(items_.size()));
      if (has_second) second_.push_back(request.second != 0 && r >= request.second ? 1 : 0);
      bool last = r + 1 == rows, sampled = request.want == Want::kLast && last;
      if (r < request.scored) scored.push_back(first_row + r);
      if (sampled || request.want == Want::kAll) {
        outputs_.push_back(first_row + r);
        sampled_.push_back(sampled ? 1 : 0);
      }
      if (wants_hidden(request.want, r == 0, last)) hidden.push_back(first_row + r);
    }
    items_.push_back({first_row, rows, first_position, request.sequence->pages().data(),
                      expanded_part(request.sequence->expanded(), first_position, rows)});
  }
  logit_rows_ = static_cast<uint32_t>(outputs_.size());
  HEARTH_CHECK(
      logit_rows_ <= layout_.options.outputs && hidden.size() <= layout_.options.hidden_rows,
      "a step wants no more rows than the engine has room for");
  scored_rows_ = static_cast<uint32_t>(scored.size());
  outputs_.insert(outputs_.end(), scored.begin(), scored.end());
  outputs_.insert(outputs_.end(), hidden.begin(), hidden.end());
}

StepView Engine::view() {
  return {.tokens = tokens_,
          .positions = positions_,
          .row_items = row_items_,
          .items = items_,
          .outputs = outputs_,
          .logit_rows = logit_rows_,
          .logits = logits_->begin_step(),
          .sampled = sampled_,
          .hidden = memory_->hidden(),
          .second = second_,
          .later_rows = scored_rows_};
}

bool Engine::step(std::span<const StepRequest> requests, const Abandon* abandon) {
  check(requests);
  lay_out(requests);
  const auto undo = [&] {
    for (size_t i = 0; i < requests.size(); ++i) {
      requests[i].sequence->truncate(items_[i].first_position);
    }
  };
  if (runner_) {
    try {
      runner_->run(view());
    } catch (...) {
      undo();
      throw;
    }
    return true;
  }
  if (lane_->run(view(), abandon)) return true;
  undo();
  return false;
}

std::span<const float> Engine::logits(size_t i, uint32_t member) const {
  HEARTH_CHECK(i < logit_rows_, "only wanted rows have logits");
  return logits_->row(i, member);
}

std::span<const TokenLogit> Engine::best(size_t i, uint32_t count, uint32_t below,
                                         uint32_t member) const {
  HEARTH_CHECK(i < logit_rows_ && sampled_[i] != 0, "only rows to sample from have their best");
  return logits_->best(i, count, below, member);
}

// The activations of the step are there still.
bool Engine::score(std::span<ScoredToken> tokens, uint32_t below, const Abandon* abandon) {
  HEARTH_CHECK(tokens.size() == scored_rows_ && below <= spec().hyper.vocabulary,
               "every scored row has a token");
  if (tokens.empty()) return true;
  scorer_->prepare(tokens, below);
  const uint32_t first_row = layout_.options.outputs, most = layout_.options.scored_rows;
  const std::vector<uint8_t> none(most, 0);
  for (uint32_t done = 0; done < scored_rows_; done += most) {
    if (abandon != nullptr && (*abandon)()) return false;
    StepView head = view();
    head.first_logit = logit_rows_ + done;
    head.logit_rows = std::min(most, scored_rows_ - done);
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

std::span<const float> Engine::hidden(size_t i) const {
  const size_t before = logit_rows_ + scored_rows_;
  HEARTH_CHECK(before + i < outputs_.size(), "only wanted rows have hidden states");
  size_t width = spec().hyper.width;
  return {memory_->hidden() + i * width, width};
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
