// Prompts that are computed beside the steps: which are, and what becomes of them.
#include <algorithm>
#include <new>

#include "engine/scheduler.h"
#include "graph/step_view.h"

namespace hearth {

// The first position that steps have to compute: rows, scores and a text's first token are given by
// them alone.
uint32_t Scheduler::streamable_end(const Generation& generation) const {
  auto end = static_cast<uint32_t>(generation.tokens().size()) - 1;
  if (generation.request().wants_rows()) end = std::min(end, generation.next_row());
  if (generation.scores_left() > 0) end = std::min(end, generation.next_scored());
  return end;
}

// Gives every prompt to the streamer that ends sooner there than by steps. What steps would have to
// do before it counts: the prompts in front of it.
void Scheduler::start_streams() {
  if (options_.streamer == nullptr) return;
  uint32_t core_tokens = 0;
  for (const GenerationPtr& generation : running_) {
    if (generation->decodes() || generation->stream != 0) continue;
    count_cached(*generation, adopt(*generation));
    if (!start_stream(*generation, &core_tokens)) core_tokens += generation->pending();
  }
}

bool Scheduler::start_stream(Generation& generation, uint32_t* core_tokens) {
  Sequence& sequence = *generation.sequence;
  const uint32_t from = sequence.length(), end = streamable_end(generation);
  if (end <= from || sequence.expanded() > 0 || generation.by_cores) return false;
  const uint32_t count = end - from;
  if (sequence.pages_needed(count) > engine_.pool().available()) return false;
  if (!may_lose(pages_for(end))) return false;
  const double core_seconds = token_seconds_ * (*core_tokens + count);
  if (!options_.streamer->takes(count, pages_for(end), core_seconds)) return false;
  const std::span<const int32_t> tokens = generation.tokens().subspan(from, count);
  const uint64_t stream = ++last_stream_;
  streams_.try_emplace(stream);
  try {
    sequence.grow(tokens);
    options_.streamer->begin({stream, {tokens.begin(), tokens.end()}, from, sequence.pages()});
  } catch (...) {
    sequence.truncate(from);
    streams_.erase(stream);
    throw;
  }
  generation.stream = stream;
  generation.streamed_from = from;
  if (generation.admitted_seconds == 0) generation.admitted_seconds = options_.clock();
  return true;
}

// Once a GPU was lost with pages, prompts go there only if a whole context is left should it take
// so many with it again, beside those of all that are under way.
bool Scheduler::may_lose(uint32_t pages) const {
  if (lost_.empty()) return true;
  size_t gone = pages;
  for (const auto* sequences : {&lost_, &streams_}) {
    for (const auto& [id, sequence] : *sequences) gone += sequence ? sequence->pages().size() : 0;
  }
  for (const GenerationPtr& generation : running_) {
    if (generation->stream != 0) gone += generation->sequence->pages().size();
  }
  return gone + pages_for(engine_.context()) <= engine_.pool().page_count();
}

// Its prompt is not wanted any more: its pages are kept until no pass touches them.
void Scheduler::leave_stream(Generation& generation) noexcept {
  if (generation.stream == 0) return;
  options_.streamer->cancel(generation.stream);
  streams_.at(generation.stream) = std::move(generation.sequence);
  generation.stream = 0;
}

// What was not filled is computed by steps.
void Scheduler::take_streamed() {
  if (options_.streamer == nullptr) return;
  for (const PromptStreamer::Done& done : options_.streamer->take_done()) {
    auto stream = streams_.extract(done.id);
    const bool lost = done.outcome == PromptStreamer::Outcome::kLost;
    const auto at = std::ranges::find(running_, done.id, [](auto& g) { return g->stream; });
    if (at == running_.end()) {
      // It ended meanwhile.
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
      generation.sequence = engine_.new_sequence(generation.first_turn());
      continue;
    }
    // A page that it began in was copied there and back, perhaps in part.
    generation.sequence->truncate(generation.streamed_from / kPagePositions * kPagePositions);
  }
  const StreamerFigures figures = options_.streamer->figures();
  statistics_.stream_passes.set(figures.passes);
  statistics_.failed_stream_passes.set(figures.failed_passes);
  statistics_.streamed_bytes.set(figures.copied_bytes);
  statistics_.stream_nanoseconds.set(static_cast<uint64_t>(figures.pass_seconds * 1e9));
}

// Its pages are filled.
void Scheduler::end_stream(Generation& generation) {
  Sequence& sequence = *generation.sequence;
  const uint32_t tokens = sequence.length() - generation.streamed_from;
  statistics_.streamed_prompts.add(1);
  statistics_.streamed_tokens.add(tokens);
  statistics_.computed_tokens.add(tokens);
  generation.reached = std::max(generation.reached, sequence.length());
  try {
    if (options_.prefix_cache) sequence.publish();
  } catch (const std::bad_alloc&) {
    // Others compute it again.
  }
}

}  // namespace hearth
