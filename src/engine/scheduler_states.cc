// Keeps states for later prompts, in models with layers that keep states (engine/state_pool.h).
// States are kept at the end of a prompt's and of a reply's last whole page, where a prompt leaves
// a path that others share, and now and then in a long prompt; steps end there. Between these
// places one passing state moves from page to page. Others find it, and so does the sequence itself
// after a preemption.
#include <algorithm>

#include "engine/scheduler.h"

namespace hearth {
namespace {

// The least distance in tokens from a kept state to the state at a prompt's last page. Keeping the
// latter costs another step for the few tokens after it; at a smaller distance, computing the
// tokens again is cheaper.
constexpr uint32_t kMinStateDistance = 3 * kPagePositions;

}  // namespace

bool Scheduler::keeps_states() const {
  return options_.prefix_cache && engine_.states() != nullptr && engine_.states()->max_kept() > 0;
}

// Returns the first position after its length at which its state is to be kept.
uint32_t Scheduler::next_kept(const Generation& generation) const {
  const uint32_t at = generation.sequence->length(), known = generation.sequence->known();
  const uint32_t last = generation.decodes() ? 0 : last_page_end(generation.tokens().size());
  if (at >= last) return (at / kPagePositions + 1) * kPagePositions;
  const uint32_t each = options_.state_pages * kPagePositions;
  uint32_t next = (at / each + 1) * each;
  if (last - at >= kMinStateDistance) next = std::min(next, last);
  return known > at ? std::min(next, known) : next;
}

// Returns how many of its next tokens, at most `tokens`, come in one step: none after a place where
// its state is to be kept, and whole pages unless they are its last.
uint32_t Scheduler::cut_at_state(const Generation& generation, uint32_t tokens) const {
  if (tokens == 0 || !keeps_states() || generation.request().wants_rows()) return tokens;
  const uint32_t at = generation.sequence->length();
  uint32_t end = std::min(at + tokens, next_kept(generation));
  const uint32_t whole = end / kPagePositions * kPagePositions;
  if (end - at < generation.pending() && whole > at) end = whole;
  return end - at;
}

// Returns whether a part of the step that is being formed computes the next page of this prompt.
// Then the prompt takes that page a step later.
bool Scheduler::awaits_page(const Generation& generation) const {
  const uint32_t at = generation.sequence->length();
  if (!keeps_states() || at % kPagePositions != 0 || generation.pending() <= kPagePositions ||
      generation.request().wants_rows() || generation.scores_left() > 0) {
    return false;
  }
  auto next_page = [at](const Generation& one) { return one.tokens().subspan(at, kPagePositions); };
  return std::ranges::any_of(picks_, [&](const Pick& pick) {
    const Sequence& other = *pick.generation->sequence;
    if (other.length() != at || pick.tokens < kPagePositions) return false;
    if (at > 0 && other.pages().back() != generation.sequence->pages().back()) return false;
    return std::ranges::equal(next_page(*pick.generation), next_page(generation));
  });
}

// Keeps the state of a generation whose pages are published.
void Scheduler::keep_state(const Generation& generation) {
  Sequence& sequence = *generation.sequence;
  const uint32_t length = sequence.length();
  if (!keeps_states() || length % kPagePositions != 0) return;
  const uint32_t last = last_page_end(generation.request().prompt.size());
  const bool ends = length <= last && last - length < kMinStateDistance;
  const bool lasting =
      ends || length == sequence.known() || length % (options_.state_pages * kPagePositions) == 0;
  sequence.keep_state(lasting);
}

// Counts the tokens of a pick that had been computed before: for the same sequence before it gave
// up its place, or for others, which left no state there.
void Scheduler::count_again(const Pick& pick) {
  const Generation& generation = *pick.generation;
  const uint32_t end = generation.sequence->length(), first = end - pick.tokens;
  const uint32_t before = std::max(generation.reached, generation.sequence->known());
  if (before > first) statistics_.recomputed_tokens.add(std::min(end, before) - first);
}

}  // namespace hearth
