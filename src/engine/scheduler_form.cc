// Forms a step: which sequences take part in it, and with how many tokens.
#include <algorithm>

#include "base/check.h"
#include "engine/scheduler.h"
#include "graph/step_view.h"

namespace hearth {

// Returns how many tokens a step has time for besides `decoding` ones. A model that keeps nothing
// of a text from step to step takes it whole.
uint32_t Scheduler::affordable_tokens(uint32_t room, uint32_t decoding) const {
  if (options_.step_seconds <= 0 || !engine_.pool().keeps_pages()) return room;
  double affordable = engine_.options().decode_rows + 1;
  if (token_seconds_ > 0) {
    double seconds = options_.step_seconds * (decoding == 0 ? kAloneFactor : 1);
    affordable = seconds / token_seconds_ - decoding;
  }
  double chunk = std::clamp<double>(affordable, options_.min_chunk, options_.step_tokens);
  return std::min(room, static_cast<uint32_t>(chunk));
}

// Returns the fewest of a prompt's next tokens that make a chunk.
uint32_t Scheduler::min_chunk_of(const Generation& generation) const {
  const Sequence& sequence = *generation.sequence;
  uint32_t expanded =
      expanded_part(sequence.expanded(), sequence.length(), options_.min_expanded_chunk);
  uint32_t least = std::max(options_.min_chunk, expanded);
  return std::min(generation.pending(), least);
}

// Forms a step. Returns false if no sequence could take part. If a sequence could take part but
// then gave its pages away, the step may be empty; the next step is not.
bool Scheduler::form() {
  picks_.clear();
  picks_.reserve(running_.size());
  const auto decoding = static_cast<uint32_t>(
      std::ranges::count_if(running_, [](const GenerationPtr& g) { return g->decodes(); }));
  // A step full of decoding sequences still leaves room for prompts.
  const bool prompts = std::ranges::any_of(
      running_, [](const GenerationPtr& g) { return !g->decodes() && !g->streams(); });
  const uint32_t kept = prompts ? std::min(options_.min_chunk, options_.step_tokens / 2) : 0;
  Room room{options_.step_tokens - kept, engine_.options().outputs, engine_.options().hidden_rows};
  const uint32_t decoded = pick_decoding(decoding, &room);
  pick_prompts(room.tokens + kept, decoded, &room);
  bool any = !picks_.empty();
  find_pages();
  note_turns();
  return any;
}

// Picks one token of every decoding sequence, and more of those with more pending tokens, as far as
// time and room allow. Returns how many tokens it picked.
uint32_t Scheduler::pick_decoding(uint32_t decoding, Room* room) {
  const uint32_t whole = room->tokens;
  uint32_t more = affordable_tokens(whole - std::min(whole, decoding), decoding);
  for (const GenerationPtr& generation : running_) {
    if (room->tokens == 0) break;
    if (!generation->decodes()) continue;
    const uint32_t most = std::min(generation->pending(), 1 + more);
    const uint32_t tokens = cut_at_state(*generation, most);
    if (pick(*generation, tokens, room) == Picked::kYes) more -= tokens - 1;
  }
  return whole - room->tokens;
}

// Picks chunks of prompts, so that the step has up to `whole` tokens beside the `decoded` ones.
void Scheduler::pick_prompts(uint32_t whole, uint32_t decoded, Room* room) {
  room->tokens = affordable_tokens(whole, decoded);
  bool first = true;
  // The flag is also cleared for prompts that have no turn this time.
  for (const GenerationPtr& generation : running_) generation->awaits = false;
  for (const GenerationPtr& generation : running_) {
    if (generation->decodes() || generation->streams()) continue;
    // Another prompt may have computed this one's next page, or may be about to.
    count_cached(*generation, adopt(*generation));
    generation->awaits = awaits_page(*generation);
    if (generation->awaits) continue;
    const uint32_t least = min_chunk_of(*generation);
    if (first) room->tokens = std::max(room->tokens, std::min(least, whole));
    uint32_t tokens = std::min(generation->pending(), room->tokens);
    // A few tokens of a prompt would cost more than they gain.
    if (tokens == 0 || (!first && tokens < least)) break;
    Picked picked = pick(*generation, cut_at_state(*generation, tokens), room);
    if (picked == Picked::kNoRoom) break;
    if (picked == Picked::kYes) first = false;
  }
}

void Scheduler::note_turns() {
  turns_.clear();
  for (const GenerationPtr& generation : running_) {
    auto pick = std::ranges::find(picks_, generation.get(), &Pick::generation);
    turns_.push_back({generation->job().id(), generation->choice(), generation->decodes(),
                      generation->held_up, generation->stream != 0,
                      generation->awaits || generation->awaits_pass,
                      pick == picks_.end() ? 0 : pick->tokens});
  }
}

// Shapes the pick of a text or of a prompt whose tokens are scored. Scores that were given before
// its sequence lost its pages are not given again.
bool Scheduler::shape_text(const Generation& generation, const Room& room, Pick* pick) {
  const uint32_t at = generation.sequence->length(), left = generation.scores_left();
  if (left > 0 && at < generation.next_scored()) {
    pick->tokens = std::min(pick->tokens, generation.next_scored() - at);
  } else {
    pick->scored = std::min(pick->tokens, left);
  }
  const bool last = pick->tokens == generation.pending();
  const bool samples = last && generation.request().deliver == Deliver::kText;
  pick->want = samples ? Want::kLast : Want::kNothing;
  if (generation.request().deliver == Deliver::kPrompt) {
    pick->results = last || pick->scored > 0 ? 1 : 0;
  } else {
    pick->results = (last ? generation.choices_together() : 0) + (pick->scored > 0 ? 1 : 0);
  }
  return !samples || room.logit_rows > 0;
}

// Sets which results the pick wants and how many. May lower pick->tokens: before the first token
// that wants a result, to the tokens up to it; where each token wants one, to the rows of logits or
// hidden states that the step still has. Returns false if it needs such a row and none is left.
bool Scheduler::shape(const Generation& generation, const Room& room, Pick* pick) const {
  const Request& request = generation.request();
  if (!request.wants_rows()) return shape_text(generation, room, pick);
  uint32_t at = generation.sequence->length();
  pick->results = 0;
  pick->want = Want::kNothing;
  if (at < generation.next_row()) {
    pick->tokens = std::min(pick->tokens, generation.next_row() - at);
    return true;
  }
  bool hidden = request.deliver == Deliver::kHidden;
  // Each of the other running sequences may need a row of logits.
  auto others = static_cast<uint32_t>(running_.size()) - 1;
  uint32_t spare = room.logit_rows > others ? room.logit_rows - others : 1;
  pick->tokens =
      std::min({pick->tokens, hidden ? room.hidden_rows : std::min(spare, room.logit_rows),
                generation.max_results()});
  pick->want = hidden ? Want::kHidden : Want::kAll;
  pick->results = pick->tokens;
  return pick->tokens > 0;
}

Scheduler::Picked Scheduler::pick(Generation& generation, uint32_t tokens, Room* room) {
  Pick pick{.generation = &generation, .tokens = tokens};
  if (!shape(generation, *room, &pick)) return Picked::kNoRoom;
  generation.held_up = pick.results > 0 && !generation.job().stream().reserve(pick.results);
  if (generation.held_up) return Picked::kHeldUp;
  room->tokens -= pick.tokens;
  if (pick.want == Want::kLast) room->logit_rows -= 1;
  if (pick.want == Want::kAll) room->logit_rows -= pick.tokens;
  if (pick.want == Want::kHidden) room->hidden_rows -= pick.tokens;
  picks_.push_back(pick);
  return Picked::kYes;
}

void Scheduler::find_pages() {
  auto needed = [this] {
    PageCounts pages;
    for (const Pick& pick : picks_) pages += pick.generation->sequence->pages_needed(pick.tokens);
    return pages;
  };
  while (!needed().fit(engine_.available_pages())) {
    HEARTH_CHECK(running_.size() > 1 || !streams_.empty() || !lost_.empty(),
                 "the pool holds one full context");
    if (preempt_youngest(&Generation::still_held_up)) continue;
    preempt_youngest([](Generation&) { return true; });
  }
}

}  // namespace hearth
