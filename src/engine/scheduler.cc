#include "engine/scheduler.h"

#include <algorithm>
#include <atomic>

#include "base/clock.h"
#include "base/error.h"
#include "graph/step_view.h"

namespace hearth {
namespace {

constexpr std::string_view kLostPages =
    "a GPU was lost and may still write to pages of the KV cache, so these stay unused, and the "
    "others are too few for this text: start the program again";

}  // namespace

Scheduler::Scheduler(Engine& engine, const Tokenizer* tokenizer, SchedulerOptions options,
                     Statistics& statistics)
    : engine_(engine),
      limits_(generation_limits(engine, tokenizer)),
      options_(std::move(options)),
      statistics_(statistics) {
  if (options_.step_tokens == 1) {
    fail_field(
        ErrorCode::kUsage, "step_tokens",
        "is 1, which leaves no room for prompts while other requests decode: give 2 or more");
  }
  const EngineOptions& limits = engine.options();
  auto settle = [](uint32_t asked, uint32_t most) {
    return asked == 0 ? most : std::min(asked, most);
  };
  options_.step_tokens = settle(options_.step_tokens, limits.prefill_rows);
  // Every running text may need a row of logits in the same step.
  options_.max_running = settle(options_.max_running, limits.outputs);
  if (options_.step_tokens == 1) options_.max_running = 1;
  if (engine.states() != nullptr) {
    options_.max_running = std::min(options_.max_running, engine.states()->places());
  }
  options_.min_chunk = std::clamp(options_.min_chunk, 1u, options_.step_tokens);
  options_.min_expanded_chunk =
      std::clamp(options_.min_expanded_chunk, options_.min_chunk, options_.step_tokens);
  if (!options_.clock) options_.clock = steady_seconds;
  update_gauges();
}

void Scheduler::add(std::shared_ptr<Job> job) noexcept {
  try {
    auto generation = std::make_unique<Generation>(job, 0, arrivals_++);
    generation->streamed_positions = own_positions(*generation);
    waiting_.push_back(std::move(generation));
  } catch (const std::exception& error) {
    for (uint32_t choice = 0; choice < job->request().choices; ++choice) {
      Result out;
      out.choice = choice;
      count_end(Finish::kFailed);
      job->end(std::move(out), Finish::kFailed, failure_text(error));
    }
    job->stream().notify_results();
  }
  update_gauges();
}

bool Scheduler::step() {
  take_streamed();
  drop_gone();
  try {
    bool any = compute();
    finish_step();
    return any;
  } catch (...) {
    finish_step();
    throw;
  }
}

// Ends the step: all bookkeeping is done before the first client is told of results.
void Scheduler::finish_step() noexcept {
  drop_picks();
  for (const GenerationPtr& generation : over_) generation->sequence.reset();
  update_gauges();
  for (const auto* list : {&running_, &newborn_, &over_}) notify(*list);
  over_.clear();
}

void Scheduler::notify(const std::list<GenerationPtr>& generations) noexcept {
  for (const GenerationPtr& generation : generations) generation->job().stream().notify_results();
}

bool Scheduler::compute() {
  admit();
  start_streams();
  bool any = form();
  // Sequences that turned out to be held up give their pages to others.
  while (!any && (admit() || make_way_for_stream())) {
    start_streams();
    any = form();
  }
  update_gauges();
  if (!picks_.empty() && run()) {
    sample_ahead();
    deliver();
  }
  return any;
}

void Scheduler::count_end(Finish finish) {
  statistics_.finished_choices.add(1);
  if (finish == Finish::kCancelled) statistics_.cancelled_choices.add(1);
  if (finish == Finish::kFailed) statistics_.failed_choices.add(1);
}

void Scheduler::end(Generation& generation, Finish finish, std::string_view error) {
  for (uint32_t i = 0; i < generation.choices_together(); ++i) count_end(finish);
  generation.end(finish, error);
}

void Scheduler::end_all(Finish finish, std::string_view error) noexcept {
  for (auto* list : {&running_, &newborn_, &waiting_}) {
    for (const GenerationPtr& generation : *list) {
      leave_stream(*generation);
      end(*generation, finish, error);
    }
    over_.splice(over_.end(), *list);
  }
  finish_step();
}

// Ends jobs whose clients have left at once, before another step.
void Scheduler::drop_gone() {
  for (auto* list : {&running_, &waiting_}) {
    for (auto at = list->begin(); at != list->end();) {
      auto next = std::next(at);
      if ((*at)->job().gone()) {
        leave_stream(**at);
        end(**at, Finish::kCancelled);
        over_.splice(over_.end(), *list, at);
      }
      at = next;
    }
  }
  if (!over_.empty()) finish_step();
}

// Returns how many more pages a generation's sequence will take for the tokens it has.
PageCounts Scheduler::promised_to(const Generation& generation) {
  const Sequence& sequence = *generation.sequence;
  PageCounts pages = sequence.pages_lacking(static_cast<uint32_t>(generation.tokens().size()) + 1);
  if (generation.stream == 0 && sequence.must_stream()) {
    const uint32_t left = sequence.streamed() - sequence.length();
    pages.window = std::max(pages.window, sequence.pages_needed_by_passes(left).window);
  }
  return pages;
}

// Returns the pages promised to all running sequences. The window pages include those for a step's
// tokens that fall behind their windows.
PageCounts Scheduler::promised_pages() const {
  PageCounts pages;
  if (engine_.windows() != nullptr) pages.window = pages_for(options_.step_tokens);
  for (const GenerationPtr& generation : running_) pages += promised_to(*generation);
  return pages;
}

// Takes the pages of as many of the next tokens as the prefix cache has. Returns their number.
uint32_t Scheduler::adopt(Generation& generation) {
  if (!options_.prefix_cache) return 0;
  std::span<const int32_t> tokens = generation.tokens();
  // A row that is still wanted must be computed, even if the cache has its page.
  if (generation.request().wants_rows()) tokens = tokens.first(generation.next_row() + 1);
  if (generation.scores_left() > 0) tokens = tokens.first(generation.next_scored() + 1);
  return generation.sequence->adopt_prefix(tokens);
}

// Counts only tokens that other sequences computed: after a preemption a sequence also finds its
// own pages.
void Scheduler::count_cached(Generation& generation, uint32_t tokens) {
  statistics_.cached_tokens.add(tokens);
  uint32_t length = generation.sequence->length();
  uint32_t known = std::max(generation.reached, length - tokens);
  if (length > known) {
    if (generation.cached_tokens == 0) statistics_.cache_hits.add(1);
    generation.cached_tokens += length - known;
  }
  generation.reached = std::max(generation.reached, length);
}

bool Scheduler::try_admit(Generation& generation) {
  generation.sequence = new_sequence(generation);
  uint32_t cached = adopt(generation);
  PageCounts promised = promised_pages();
  promised += promised_to(generation);
  const bool others = pages_come() || !lost_.empty();
  if (others && !promised.fit(engine_.available_pages())) {
    generation.sequence.reset();
    return false;
  }
  count_cached(generation, cached);
  return true;
}

// Returns whether running or streamed sequences hold pages, which will become free.
bool Scheduler::pages_come() const { return !running_.empty() || !streams_.empty(); }

ClientTurns Scheduler::client_turns() const {
  ClientTurns turns;
  for (const GenerationPtr& generation : running_) turns.add(generation->request().client);
  return turns;
}

// Returns the waiting generation to admit next, among those whose clients read; end() if there is
// none.
std::list<Scheduler::GenerationPtr>::iterator Scheduler::next_waiting() {
  ClientTurns turns = client_turns();
  auto next = waiting_.end();
  uint32_t fewest = 0;
  for (auto at = waiting_.begin(); at != waiting_.end(); ++at) {
    uint32_t running = turns.running((*at)->request().client);
    if ((next != waiting_.end() && running >= fewest) || (*at)->still_held_up()) continue;
    next = at;
    fewest = running;
    if (fewest == 0) break;
  }
  return next;
}

// Admits in turn: a short prompt does not overtake a long one that waits for pages. But no sequence
// waits for one whose client does not read. Returns whether any sequence was admitted.
bool Scheduler::admit() {
  bool any = false;
  while (!waiting_.empty()) {
    auto next = next_waiting();
    if (next == waiting_.end()) break;
    std::string_view client = (*next)->request().client;
    auto makes_way = [turns = client_turns(), client](Generation& generation) {
      return turns.makes_way(generation.request().client, client);
    };
    if (running_.size() < options_.max_running && try_admit(**next)) {
      running_.splice(running_.end(), waiting_, next);
      any = true;
    } else if (!preempt_youngest(&Generation::still_held_up) && !preempt_youngest(makes_way)) {
      if (pages_come()) break;
      end(**next, Finish::kFailed, kLostPages);
      over_.splice(over_.end(), waiting_, next);
    }
  }
  return any;
}

void Scheduler::unpick(Generation* generation) {
  std::erase_if(picks_, [&](const Pick& pick) {
    if (pick.generation != generation) return false;
    if (pick.results > 0) generation->job().stream().unreserve(pick.results);
    return true;
  });
}

// Gives back the room in streams for results that did not come.
void Scheduler::drop_picks() {
  for (const Pick& pick : picks_) {
    if (pick.results > 0) pick.generation->job().stream().unreserve(pick.results);
  }
  picks_.clear();
}

// Preempts the youngest sequence for which `which` is true, of the client with the most running
// ones. Returns false if there is none.
bool Scheduler::preempt_youngest(const Which& which) {
  ClientTurns turns = client_turns();
  auto youngest = running_.end();
  uint32_t most = 0;
  for (auto at = running_.begin(); at != running_.end(); ++at) {
    if ((*at)->stream != 0 || !which(**at)) continue;
    uint32_t running = turns.running((*at)->request().client);
    bool first = youngest == running_.end() || running > most;
    if (!first && (running < most || !(*at)->younger_than(**youngest))) continue;
    youngest = at;
    most = running;
  }
  if (youngest == running_.end()) return false;
  unpick(youngest->get());
  to_waiting(running_, youngest);
  statistics_.preemptions.add(1);
  return true;
}

void Scheduler::to_waiting(std::list<GenerationPtr>& from, std::list<GenerationPtr>::iterator at) {
  (*at)->sequence.reset();
  auto after = std::ranges::find_if(
      waiting_, [&](const GenerationPtr& other) { return other->younger_than(**at); });
  waiting_.splice(after, from, at);
}

// Computes the picks. Returns false if the step was abandoned because its results are no longer
// wanted.
bool Scheduler::run() {
  requests_.clear();
  scored_.clear();
  uint32_t tokens = 0;
  bool prompts = false;
  for (const Pick& pick : picks_) {
    uint32_t at = pick.generation->sequence->length();
    const std::span<const int32_t> all = pick.generation->tokens();
    requests_.push_back({.sequence = pick.generation->sequence.get(),
                         .tokens = all.subspan(at, pick.tokens),
                         .want = pick.want,
                         .scored = pick.scored,
                         .publishes = options_.prefix_cache});
    for (uint32_t i = 0; i < pick.scored; ++i) {
      scored_.push_back({all[at + i + 1], pick.generation->request().top_logprobs});
    }
    tokens += pick.tokens;
    prompts = prompts || !pick.generation->decodes();
  }
  Engine::Abandon abandon = [this] {
    return std::ranges::all_of(picks_, [](const Pick& p) { return p.generation->job().gone(); });
  };
  double start = options_.clock();
  for (const GenerationPtr& generation : running_) {
    if (generation->admitted_seconds == 0) generation->admitted_seconds = start;
  }
  const bool complete =
      engine_.step(requests_, &abandon) && engine_.score(scored_, limits_.vocabulary, &abandon);
  step_end_ = options_.clock();
  double seconds = step_end_ - start;
  statistics_.steps.add(1);
  statistics_.step_nanoseconds.add(static_cast<uint64_t>(seconds * 1e9));
  if (!complete) {
    statistics_.abandoned_steps.add(1);
    return false;
  }
  statistics_.computed_tokens.add(tokens);
  statistics_.step_seconds.observe(seconds);
  statistics_.step_tokens.observe(tokens);
  // The last step has half the weight, since chunks cost more as a prompt gets longer.
  if (prompts && tokens > engine_.options().decode_rows) {
    double cost = seconds / tokens;
    token_seconds_ = token_seconds_ == 0 ? cost : (token_seconds_ + cost) / 2;
  }
  return true;
}

// Samples the tokens of all sequences in parallel, on the threads that computed the step. Each
// sample, and the mask that it needs, is independent of the others.
void Scheduler::sample_ahead() {
  sampling_.clear();
  uint32_t row = 0;
  for (const Pick& pick : picks_) {
    if (pick.want == Want::kLast) {
      if (!pick.generation->knows_next()) sampling_.emplace_back(pick.generation, row);
      ++row;
    } else if (pick.want == Want::kAll) {
      row += pick.tokens;
    }
  }
  if (sampling_.size() < 2) return;
  std::atomic<size_t> next = 0;
  engine_.on_workers([&](uint32_t member) noexcept {
    for (size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < sampling_.size();) {
      EngineRow logits(engine_, sampling_[i].second, member);
      sampling_[i].first->sample_ahead(logits, limits_);
    }
  });
}

// Gives out the step's results, and sends the sequences that took part to the end of the line.
void Scheduler::deliver() {
  NextRow next;
  for (Pick& pick : picks_) {
    Generation* generation = pick.generation;
    keep_state(*generation);
    count_again(pick);
    generation->reached = std::max(generation->reached, generation->sequence->length());
    generation->computed_at(step_end_);
    generation->report_read();
    bool over = deliver_to(pick, &next);
    auto at = std::ranges::find_if(running_, [&](auto& g) { return g.get() == generation; });
    if (over) {
      over_.splice(over_.end(), running_, at);
    } else {
      running_.splice(running_.end(), running_, at);
    }
  }
  while (!newborn_.empty()) {
    if (running_.size() < options_.max_running) {
      running_.splice(running_.end(), newborn_, newborn_.begin());
    } else {
      to_waiting(newborn_, newborn_.begin());
    }
  }
}

// Delivers a pick's results. Returns true where its generation has ended.
bool Scheduler::deliver_to(Pick& pick, NextRow* next) {
  Generation& generation = *pick.generation;
  const uint32_t row = next->logits;
  if (pick.want == Want::kLast) ++next->logits;
  if (deliver_scores(pick, &next->score)) return true;
  if (pick.want == Want::kNothing) return false;
  if (pick.want == Want::kLast) {
    take_in_siblings(pick, row);
    return deliver_token(generation, row, &pick);
  }
  bool over = false;
  uint32_t first = generation.sequence->length() - pick.tokens;
  for (uint32_t i = 0; i < pick.tokens; ++i) {
    bool hidden = pick.want == Want::kHidden;
    over = generation.take_row(
        first + i, hidden ? engine_.hidden(next->hidden++) : engine_.logits(next->logits++));
    --pick.results;
  }
  if (over) count_end(Finish::kComplete);
  return over;
}

// Delivers the scores of a pick's prompt tokens. Returns true if its generation has ended, or
// failed because logits were not finite.
bool Scheduler::deliver_scores(Pick& pick, size_t* score) {
  Generation& generation = *pick.generation;
  const std::span<ScoredToken> scored = std::span(scored_).subspan(*score, pick.scored);
  *score += pick.scored;
  if (!std::ranges::all_of(scored, &ScoredToken::finite)) {
    end(generation, Finish::kFailed, kNotNumbers);
    return true;
  }
  const bool ends = generation.request().deliver == Deliver::kPrompt && generation.pending() == 0;
  if (scored.empty() && !ends) return false;
  const bool over = generation.take_scores(scored);
  --pick.results;
  statistics_.scored_tokens.add(scored.size());
  if (over) count_end(Finish::kLength);
  return over;
}

// Delivers a sampled token, and tokens that must come after it. `generation` is the pick's own or
// one of its siblings. Returns true if it has ended.
bool Scheduler::deliver_token(Generation& generation, uint32_t logit_row, Pick* pick) {
  EngineRow row(engine_, logit_row);
  const uint32_t forced = generation.forced_count();
  std::optional<Finish> finish;
  do {
    finish = generation.take_token(row, limits_);
    --pick->results;
    if (finish != Finish::kFailed) statistics_.generated_tokens.add(1);
  } while (!finish && takes_more(generation, pick));
  statistics_.forced_tokens.add(generation.forced_count() - forced);
  if (finish) count_end(*finish);
  return finish.has_value();
}

// Returns whether a token that must come is delivered in this step too, and sets aside room for its
// result. Without room it comes after the next step, and is the same token.
bool Scheduler::takes_more(const Generation& generation, Pick* pick) {
  if (!generation.knows_next() || generation.pending() >= Generation::kMaxPending) return false;
  if (!generation.job().stream().reserve(1)) return false;
  ++pick->results;
  return true;
}

void Scheduler::take_in_siblings(Pick& pick, uint32_t logit_row) {
  std::list<GenerationPtr> siblings = pick.generation->take_siblings();
  auto at = siblings.empty() ? newborn_.end() : siblings.begin();
  // end_all() sees the siblings from here on, even if the code below throws.
  newborn_.splice(newborn_.end(), siblings);
  while (at != newborn_.end()) {
    at = deliver_token(**at, logit_row, &pick) ? newborn_.erase(at) : std::next(at);
  }
}

void Scheduler::update_gauges() {
  KvPool& pool = engine_.pool();
  statistics_.running.set(running_.size());
  statistics_.waiting.set(waiting_.size());
  statistics_.pages.set(pool.page_count());
  statistics_.available_pages.set(pool.available());
  statistics_.kept_pages.set(pool.unused_count());
  statistics_.evicted_pages.set(pool.evictions());
  update_stream_gauges();
  if (const WindowPool* windows = engine_.windows(); windows != nullptr) {
    statistics_.window_pages.set(windows->page_count());
    statistics_.available_window_pages.set(windows->available());
    statistics_.kept_window_pages.set(windows->unused_count());
    statistics_.evicted_window_pages.set(windows->evictions());
  }
  if (engine_.states() == nullptr) return;
  const StatePool& states = *engine_.states();
  statistics_.max_kept_states.set(states.max_kept());
  statistics_.kept_states.set(states.kept_count());
  statistics_.kept_state_bytes.set(states.kept_count() * uint64_t{engine_.state_bytes()});
  statistics_.evicted_states.set(states.evictions());
}

}  // namespace hearth
