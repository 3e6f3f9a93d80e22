// Chooses the prompts that are streamed (hybrid/streamer.h), and takes back their filled pages.
#include <algorithm>
#include <cmath>
#include <new>
#include <optional>
#include <span>
#include <vector>

#include "engine/kv_size.h"
#include "engine/scheduler.h"
#include "engine/step_turns.h"
#include "graph/step_view.h"

namespace hearth {

// Returns the first position of a prompt that steps must compute: only steps give rows of logits,
// scores and the first token.
uint32_t Scheduler::streamable_end(const Generation& generation) const {
  auto end = static_cast<uint32_t>(generation.tokens().size()) - 1;
  if (generation.request().wants_rows()) end = std::min(end, generation.next_row());
  if (generation.scores_left() > 0) end = std::min(end, generation.next_scored());
  return end;
}

// Returns how many positions must have the accelerator's bits by the streamer's rule; steps must
// compute none of them.
uint32_t Scheduler::own_positions(const Generation& generation) const {
  if (options_.streamer == nullptr) return 0;
  const std::optional<StreamRule> rule = options_.streamer->rule();
  if (!rule) return 0;
  const uint32_t whole = streamable_end(generation) / kPagePositions * kPagePositions;
  return std::min(rule->positions(generation.first_turn()), whole);
}

std::unique_ptr<Sequence> Scheduler::new_sequence(const Generation& generation) {
  auto sequence = engine_.new_sequence(generation.first_turn(), generation.streamed_positions);
  if (!generation.request().wants_rows()) {
    sequence->want_window(last_page_end(generation.request().prompt.size()));
  }
  return sequence;
}

// Streams every prompt that would end sooner than by steps. The time by steps includes that of the
// prompts before it.
void Scheduler::start_streams() {
  if (options_.streamer == nullptr) return;
  const bool free = !options_.streamer->rule();
  uint32_t core_tokens = 0;
  for (const GenerationPtr& generation : running_) {
    if (generation->decodes() || generation->stream != 0) continue;
    generation->awaits_pass = false;
    count_cached(*generation, adopt(*generation));
    if (generation->sequence->must_stream()) start_own_stream(*generation);
    if (free) start_free_stream(*generation, core_tokens);
    if (!generation->streams()) core_tokens += generation->pending();
  }
}

// Returns how many of the tokens that a prompt must compute have pages that a pass over another
// prompt, which begins alike, is filling.
uint32_t Scheduler::coming_from_passes(const Generation& generation) const {
  const Sequence& sequence = *generation.sequence;
  const uint32_t from = sequence.length(), end = streamable_end(generation);
  if (!options_.prefix_cache || from % kPagePositions != 0) return 0;
  uint32_t most = 0;
  const WindowPool* windows = engine_.windows();
  const std::span<const int32_t> tokens = generation.tokens().first(end);
  for (const GenerationPtr& other : running_) {
    if (other->stream == 0) continue;
    const std::vector<int32_t>& filled = other->sequence->tokens();
    if (filled.size() < size_t{from} + kPagePositions) continue;
    const auto same =
        static_cast<uint32_t>(std::ranges::mismatch(filled, tokens).in2 - tokens.begin());
    uint32_t page = from / kPagePositions;
    while ((page + 1) * kPagePositions <= same &&
           sequence.form_of(page) == other->sequence->form_of(page)) {
      ++page;
    }
    // The prompt would go on after `page`. So the window pages before that place must be among
    // those that the other sequence will still hold.
    if (windows != nullptr && first_window_page(windows->window(), page * kPagePositions) <
                                  windows->first_held(other->sequence->length())) {
      continue;
    }
    most = std::max(most, page * kPagePositions - from);
  }
  return most;
}

// Returns the seconds until steps have computed `tokens` tokens of prompts, with a turn of every
// other engine on the same cores before each turn of this engine (engine/step_turns.h); 0: not
// known.
double Scheduler::core_seconds(uint32_t tokens) const {
  if (token_seconds_ == 0) return 0;
  const auto decoding = static_cast<uint32_t>(
      std::ranges::count_if(running_, [](const GenerationPtr& g) { return g->decodes(); }));
  const uint32_t chunk = affordable_tokens(options_.step_tokens, decoding);
  const double steps = (tokens + chunk - 1) / chunk, seconds = token_seconds_ * tokens;
  const double turns = std::min(steps, std::ceil(seconds / StepTurns::kTurnSeconds));
  return seconds + turn_seconds_ * turns;
}

// Streams a prompt that would have the same bits in steps, if a pass ends sooner.
void Scheduler::start_free_stream(Generation& generation, uint32_t core_tokens) {
  const Sequence& sequence = *generation.sequence;
  const uint32_t from = sequence.length(), end = streamable_end(generation);
  if (end <= from || generation.by_cores) return;
  const uint32_t count = end - from;
  const double by_cores = core_seconds(core_tokens + count);
  const auto takes = [&](uint32_t tokens) {
    return options_.streamer->takes(tokens, end - tokens, by_cores);
  };
  // Tokens that a pass over another prompt is computing are not computed again.
  const uint32_t coming = coming_from_passes(generation);
  if (coming >= count - count / 2 && (takes(count) || takes(count - coming))) {
    generation.awaits_pass = true;
  } else if (sequence.pages_needed_by_passes(count).fit(engine_.available_pages()) &&
             may_lose(generation, count) && takes(count)) {
    begin_stream(generation, count);
  }
}

// Streams a prompt whose bits would differ in steps. It waits until there are pages for it, unless
// no other prompt could give some back.
void Scheduler::start_own_stream(Generation& generation) {
  Sequence& sequence = *generation.sequence;
  const auto left = [&] { return sequence.streamed() - sequence.length(); };
  const auto short_of_pages = [&] {
    return !sequence.pages_needed_by_passes(left()).fit(engine_.available_pages());
  };
  const auto another_held_up = [&](Generation& other) {
    return &other != &generation && other.still_held_up();
  };
  while (short_of_pages() && preempt_youngest(another_held_up)) {
  }
  const bool alone = streams_.empty() && std::ranges::all_of(running_, [](auto& one) {
                       return one->sequence->must_stream();
                     });
  // Window pages of prompts that begin after a cached prefix may leave too few for a pass. The
  // cache must not decide which prompts are streamed, so these prompts then begin at position 0.
  if (short_of_pages() && alone && engine_.windows() != nullptr) {
    for (const GenerationPtr& other : running_) other->sequence->truncate(0);
  }
  const bool stuck = short_of_pages() && alone;
  const uint32_t count = left();
  if (generation.by_cores || stuck || !may_lose(generation, count) ||
      !options_.streamer->takes(count, sequence.length(), 0)) {
    sequence.leave_to_cores();
    generation.streamed_positions = sequence.streamed();
    statistics_.changed_prompts.add(1);
    return;
  }
  const uint32_t coming = coming_from_passes(generation);
  generation.awaits_pass = short_of_pages() || coming >= count - count / 2;
  if (!generation.awaits_pass) begin_stream(generation, count);
}

// Takes the pages of a sequence that is held up, if a prompt waits for some. Returns whether there
// was such a sequence.
bool Scheduler::make_way_for_stream() {
  const bool waits =
      streams_.empty() && std::ranges::any_of(running_, [](auto& one) { return one->awaits_pass; });
  return waits && preempt_youngest(&Generation::still_held_up);
}

// Gives the streamer the next `count` tokens of a prompt.
void Scheduler::begin_stream(Generation& generation, uint32_t count) {
  Sequence& sequence = *generation.sequence;
  const uint32_t from = sequence.length();
  const std::span<const int32_t> tokens = generation.tokens().subspan(from, count);
  const uint64_t stream = ++last_stream_;
  streams_.try_emplace(stream);
  try {
    sequence.grow_for_passes(tokens);
    options_.streamer->begin({stream,
                              {tokens.begin(), tokens.end()},
                              from,
                              sequence.pages(),
                              sequence.window_pages(),
                              sequence.expanded()});
  } catch (...) {
    sequence.truncate(from);
    streams_.erase(stream);
    throw;
  }
  generation.stream = stream;
  generation.streamed_from = from;
  if (generation.admitted_seconds == 0) generation.admitted_seconds = options_.clock();
}

// Returns whether the pages of `count` more tokens may be given to the GPU. After a GPU was lost
// with pages, a whole context's pages must be left even if these pages and those of all streams
// under way are lost, too.
bool Scheduler::may_lose(const Generation& generation, uint32_t count) const {
  if (lost_.empty()) return true;
  PageCounts all = generation.sequence->pages_needed_by_passes(count);
  all += generation.sequence->held_pages();
  for (const auto* sequences : {&lost_, &streams_}) {
    for (const auto& [id, sequence] : *sequences) {
      if (sequence) all += sequence->held_pages();
    }
  }
  for (const GenerationPtr& other : running_) {
    if (other->stream != 0) all += other->sequence->held_pages();
  }
  const WindowPool* windows = engine_.windows();
  all += {pages_for(engine_.context()),
          windows ? min_window_pages(windows->window(), engine_.options()) : 0};
  return all.fit({engine_.pool().page_count(), windows ? windows->page_count() : 0});
}

// Leaves a pass whose prompt is no longer wanted. Its pages are kept until no pass uses them.
void Scheduler::leave_stream(Generation& generation) noexcept {
  if (generation.stream == 0) return;
  options_.streamer->cancel(generation.stream);
  streams_.at(generation.stream) = std::move(generation.sequence);
  generation.stream = 0;
}

// Takes back the prompts whose passes have ended. Steps compute the positions that were not filled.
void Scheduler::take_streamed() {
  if (options_.streamer == nullptr) return;
  for (const PromptStreamer::Done& done : options_.streamer->take_done()) {
    auto stream = streams_.extract(done.id);
    const bool lost = done.outcome == PromptStreamer::Outcome::kLost;
    const auto at = std::ranges::find(running_, done.id, [](auto& g) { return g->stream; });
    if (at == running_.end()) {
      // The generation ended while its prompt was streamed.
      if (lost) lost_.insert(std::move(stream));
      continue;
    }
    Generation& generation = **at;
    generation.stream = 0;
    if (done.outcome == PromptStreamer::Outcome::kFilled) {
      end_stream(generation);
      continue;
    }
    statistics_.unstreamed_prompts.add(1);
    generation.by_cores = true;
    if (lost) {
      stream.mapped() = std::move(generation.sequence);
      lost_.insert(std::move(stream));
      generation.sequence = new_sequence(generation);
      continue;
    }
    // The page in which the pass began was copied to the GPU and back, perhaps only in part.
    generation.sequence->truncate(generation.streamed_from / kPagePositions * kPagePositions);
  }
}

void Scheduler::update_stream_gauges() {
  if (options_.streamer == nullptr) return;
  const StreamerFigures figures = options_.streamer->figures();
  statistics_.stream_rows.set(figures.pass_rows);
  statistics_.stream_kept_layers.set(figures.kept_layers);
  statistics_.stream_bytes_in_flight.set(figures.bytes_in_flight);
  statistics_.stream_threshold.set(figures.threshold);
  statistics_.stream_passes.set(figures.passes);
  statistics_.failed_stream_passes.set(figures.failed_passes);
  statistics_.streamed_bytes.set(figures.copied_bytes);
  statistics_.stream_nanoseconds.set(static_cast<uint64_t>(figures.pass_seconds * 1e9));
}

// Takes the pages that a pass has filled.
void Scheduler::end_stream(Generation& generation) {
  Sequence& sequence = *generation.sequence;
  const uint32_t tokens = sequence.length() - generation.streamed_from;
  statistics_.streamed_prompts.add(1);
  statistics_.streamed_tokens.add(tokens);
  statistics_.computed_tokens.add(tokens);
  generation.reached = std::max(generation.reached, sequence.length());
  sequence.finish_passes();
  try {
    if (options_.prefix_cache) sequence.publish();
  } catch (const std::bad_alloc&) {
    // There was no memory to publish the pages. Other sequences then compute them again.
  }
}

}  // namespace hearth
