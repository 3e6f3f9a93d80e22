#include "engine/step_engine.h"

#include <utility>

#include "base/check.h"
#include "base/error.h"

namespace hearth {
namespace {

bool wants_hidden(Want want, bool first, bool last) {
  return want == Want::kHidden || (want == Want::kHiddenFirst && first) ||
         (want == Want::kHiddenLast && last);
}

}  // namespace

void StepEngine::give_memory(Pools pools, float* hidden) {
  pool_ = std::move(pools.pages);
  states_ = std::move(pools.states);
  windows_ = std::move(pools.windows);
  hidden_ = hidden;
}

void StepEngine::check(std::span<const StepRequest> requests) const {
  PageCounts pages;
  uint32_t places = 0;
  for (const StepRequest& request : requests) {
    size_t length = request.sequence->length() + request.tokens.size();
    if (length > options().context) {
      fail_field(
          ErrorCode::kRequest, "context",
          "of {} tokens is too short for a sequence of {} tokens: raise it or shorten the sequence",
          options().context, length);
    }
    for (int32_t token : request.tokens) {
      if (token < 0 || static_cast<uint32_t>(token) >= spec().hyper.vocabulary) {
        fail(ErrorCode::kRequest, "token {} is not in the vocabulary of {} tokens", token,
             spec().hyper.vocabulary);
      }
    }
    if (spec().is_encoder() && (request.want == Want::kLast || request.want == Want::kAll)) {
      fail(ErrorCode::kRequest,
           "the model is an encoder, which has hidden states and no logits: ask for hidden states");
    }
    if (!spec().has_kv_cache() && request.sequence->length() > 0) {
      fail(ErrorCode::kRequest,
           "the model has no KV cache to continue a text: give all its tokens in one step");
    }
    pages += request.sequence->pages_needed(static_cast<uint32_t>(request.tokens.size()));
    places += request.sequence->needs_place() ? 1 : 0;
  }
  if (states_ && places > states_->free_places()) {
    fail(ErrorCode::kRequest,
         "{} sequence states are needed, and {} are free: end a sequence or load with more", places,
         states_->free_places());
  }
  const PageCounts free = available_pages();
  if (pages.fit(free)) return;
  const bool windows = pages.full <= free.full;
  fail(ErrorCode::kRequest, "{} {} are needed, and {} are free: end a sequence or load with more",
       windows ? pages.window : pages.full, windows ? "pages of sliding windows" : "KV pages",
       windows ? free.window : free.full);
}

// Grows a request's sequence by its tokens. If state slots are short, sequences of the step that
// read a slot which others hold get a copy of it, until a slot is free.
StateMove StepEngine::grow(std::span<const StepRequest> requests, const StepRequest& request) {
  for (size_t i = 0; i < items_.size() && request.sequence->lacks_slot(); ++i) {
    StepItem& item = items_[i];
    if (item.state_from == item.state_to || item.state_from == kNoSlot) continue;
    states_->copy(item.state_from, item.state_to);
    item.state_from = item.state_to;
    requests[i].sequence->finish_step();
  }
  return request.sequence->grow(request.tokens);
}

// Lays out the step. outputs_ first has the rows of logits, then the rows that are scored.
void StepEngine::lay_out(std::span<const StepRequest> requests) {
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
    HEARTH_CHECK(request.scored == 0 || (options().scored_rows > 0 &&
                                         (request.want == Want::kNothing ||
                                          (request.want == Want::kLast && request.scored < rows))),
                 "scored rows have room, and are wanted for nothing else");
    uint32_t first_position = request.sequence->length();
    const StateMove state = grow(requests, request);
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
                      expanded_part(request.sequence->expanded(), first_position, rows), state.from,
                      state.to, request.sequence->window_pages().data()});
  }
  const auto logit_rows = static_cast<uint32_t>(outputs_.size());
  HEARTH_CHECK(logit_rows <= options().outputs && hidden.size() <= options().hidden_rows,
               "a step wants no more rows than the engine has room for");
  outputs_.insert(outputs_.end(), scored.begin(), scored.end());
  outputs_.insert(outputs_.end(), hidden.begin(), hidden.end());
  view_ = {.tokens = tokens_,
           .positions = positions_,
           .row_items = row_items_,
           .items = items_,
           .outputs = outputs_,
           .logit_rows = logit_rows,
           .logits = {},
           .sampled = sampled_,
           .hidden = hidden_,
           .second = second_,
           .later_rows = static_cast<uint32_t>(scored.size())};
}

bool StepEngine::step(std::span<const StepRequest> requests, const Abandon* abandon) {
  check(requests);
  std::vector<uint32_t> lengths;
  for (const StepRequest& request : requests) lengths.push_back(request.sequence->length());
  const auto undo = [&] {
    for (size_t i = 0; i < requests.size(); ++i) requests[i].sequence->undo_step(lengths[i]);
  };
  try {
    lay_out(requests);
    if (!run(view_, abandon)) {
      undo();
      return false;
    }
  } catch (...) {
    undo();
    throw;
  }
  finish(requests);
  return true;
}

// Finishes the requests. Pages are filed before they are given back.
void StepEngine::finish(std::span<const StepRequest> requests) {
  for (const StepRequest& request : requests) request.sequence->finish_step();
  for (const StepRequest& request : requests) {
    if (request.publishes) request.sequence->publish();
    request.sequence->give_back();
  }
}

std::span<const float> StepEngine::hidden(size_t i) const {
  const size_t before = view_.logit_rows + view_.later_rows;
  HEARTH_CHECK(before + i < outputs_.size(), "only wanted rows have hidden states");
  size_t width = spec().hyper.width;
  return {hidden_ + i * width, width};
}

}  // namespace hearth
