#include "hybrid/streamer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "kernels/attention/attention.h"
#include "threads/pin.h"
#include "threads/start_thread.h"

namespace hearth {

uint32_t StreamRule::step() const {
  // Longer ones would leave the cores more than a pass costs them.
  constexpr uint32_t kMostPages = 8;
  return std::clamp(threshold / kPagePositions, 1U, kMostPages) * kPagePositions;
}

uint32_t StreamRule::positions(uint32_t prompt) const {
  return prompt == 0 || prompt < threshold ? 0 : (prompt - 1) / step() * step();
}

// Texts of a pass that are cancelled meanwhile.
class Streamer::Watch : public PassWatch {
 public:
  Watch(Streamer& of, const Texts& texts) : of_(of), texts_(texts) {}

  bool wanted(size_t text) override {
    std::lock_guard lock(of_.mutex_);
    return !texts_[text].first->cancelled && !of_.stopping_;
  }
  void let_go(size_t text) override {
    {
      std::lock_guard lock(of_.mutex_);
      Waiting& waiting = *texts_[text].first;
      waiting.let_go = true;
      of_.done_.push_back({waiting.prompt.id, Outcome::kLetGo});
    }
    of_.options_.on_done();
  }

 private:
  Streamer& of_;
  const Texts& texts_;
};

Streamer::Streamer(Make make, StreamerOptions options)
    : make_(std::move(make)), options_(std::move(options)) {
  if (!options_.on_done) options_.on_done = [] {};
  const auto begin = [this] {
    if (!options_.pus.empty()) set_affinity(0, options_.pus);
    runner_ = make_();
    take_runner();
  };
  thread_ = start_thread(begin, [this] {
    work();
    runner_.reset();
  });
}

Streamer::~Streamer() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

StreamerFigures Streamer::figures() const {
  std::lock_guard lock(mutex_);
  StreamerFigures figures = figures_;
  figures.threshold = rule_ ? rule_->threshold : options_.threshold;
  return figures;
}

void Streamer::take_runner() {
  room_ = runner_->room();
  figures_.pass_rows = room_.rows;
  figures_.kept_layers = runner_->kept_layers();
  figures_.bytes_in_flight = runner_->bytes_in_flight();
}

void Streamer::leave_runner() {
  room_ = {};
  figures_.pass_rows = figures_.kept_layers = 0;
  figures_.bytes_in_flight = 0;
}

// As passes of the rows that one has.
double Streamer::seconds_of(uint64_t tokens) const {
  const uint64_t passes = tokens / room_.rows;
  const auto rest = static_cast<uint32_t>(tokens % room_.rows);
  double seconds = 0;
  if (passes > 0) seconds += static_cast<double>(passes) * options_.predicted_seconds(room_.rows);
  if (rest > 0) seconds += options_.predicted_seconds(rest);
  return seconds * slower_;
}

// The last pass has half the weight, and changes by a factor of 2 at most: it may have been slow
// for reasons of its own.
void Streamer::learn(const Texts& texts, double seconds) {
  if (!options_.predicted_seconds || !options_.learns) return;
  const double predicted = options_.predicted_seconds(tokens_of(texts));
  if (predicted > 0) {
    slower_ = (slower_ + std::clamp(seconds / predicted, slower_ / 2, slower_ * 2)) / 2;
  }
}

// Until a prompt of so many tokens is filled: what is left of the pass under way, then all that
// waits, and this.
double Streamer::seconds_behind_all(uint32_t tokens) const {
  uint64_t all = tokens;
  for (const Waiting& waiting : prompts_) all += waiting.prompt.tokens.size() - waiting.done;
  const double seconds = seconds_of(all - pass_tokens_);
  if (pass_tokens_ == 0) return seconds;
  const double left = seconds_of(pass_tokens_) - (steady_seconds() - pass_start_);
  return seconds + std::max(left, 0.0);
}

bool Streamer::takes(uint32_t tokens, uint32_t pages, double core_seconds) {
  std::lock_guard lock(mutex_);
  if (room_.rows == 0 || pages > room_.pages) return false;
  if (rule_) return true;
  if (options_.threshold > 0) return tokens >= options_.threshold;
  if (!options_.predicted_seconds || core_seconds <= 0) return false;
  // What was learnt long ago is tried again.
  if (steady_seconds() - last_pass_ > options_.retry_seconds) slower_ = 1;
  return seconds_behind_all(tokens) < core_seconds;
}

void Streamer::begin(Prompt prompt) {
  {
    std::lock_guard lock(mutex_);
    done_.reserve(done_.size() + prompts_.size() + 1);
    prompts_.push_back({.prompt = std::move(prompt)});
  }
  changed_.notify_all();
}

void Streamer::cancel(uint64_t id) {
  {
    std::lock_guard lock(mutex_);
    for (Waiting& waiting : prompts_) {
      if (waiting.prompt.id == id) waiting.cancelled = true;
    }
  }
  changed_.notify_all();
}

std::vector<PromptStreamer::Done> Streamer::take_done() {
  std::lock_guard lock(mutex_);
  std::vector<Done> done;
  done.reserve(prompts_.size());
  done.swap(done_);
  return done;
}

void Streamer::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto something = [&] { return stopping_ || !prompts_.empty(); };
    if (runner_ == nullptr) {
      const double left = next_try_ - steady_seconds();
      if (left > 0) {
        changed_.wait_for(lock, std::chrono::duration<double>(left), something);
      } else if (!stopping_) {
        lock.unlock();
        remake();
        lock.lock();
      }
    } else {
      changed_.wait(lock, something);
    }
    if (stopping_) return;
    lock.unlock();
    try {
      if (runner_ == nullptr) {
        fail_all();
      } else if (const Texts texts = form(); !texts.empty()) {
        run_pass(texts);
      }
    } catch (const std::exception&) {
      fail_all();  // there is no memory even for this
    }
    lock.lock();
  }
}

// Tries to go on with a new runner.
void Streamer::remake() {
  try {
    runner_ = make_();
    std::lock_guard lock(mutex_);
    take_runner();
  } catch (const std::exception&) {
    next_try_ = steady_seconds() + options_.retry_seconds;
    return;
  }
  if (options_.tell) options_.tell("the GPU is back: prompts are streamed again");
}

uint32_t Streamer::tokens_of(const Texts& texts) {
  uint32_t tokens = 0;
  for (const auto& [waiting, text] : texts) tokens += static_cast<uint32_t>(text.tokens.size());
  return tokens;
}

// Takes the first tokens of what waits, up to a pass's rows and pages. Those that were cancelled
// before end here.
Streamer::Texts Streamer::form() {
  Texts texts;
  bool ended = false;
  {
    std::lock_guard lock(mutex_);
    PassRoom room = room_;
    for (auto at = prompts_.begin(); at != prompts_.end();) {
      if (at->cancelled) {
        done_.push_back({at->prompt.id, Outcome::kLetGo});
        at = prompts_.erase(at);
        ended = true;
        continue;
      }
      const std::span<const int32_t> left = std::span(at->prompt.tokens).subspan(at->done);
      const uint32_t first = at->prompt.first_position + at->done;
      auto count = static_cast<uint32_t>(std::min<size_t>(left.size(), room.rows));
      const uint32_t pages = pages_for(first + count);
      if (count == 0 || pages > room.pages) break;
      const auto first_of = [pages](const std::vector<uint32_t>& all) {
        return std::span(all).first(std::min<size_t>(pages, all.size()));
      };
      texts.push_back({&*at,
                       {left.first(count), first, first_of(at->prompt.pages),
                        first_of(at->prompt.window_pages)}});
      room.rows -= count;
      room.pages -= pages;
      ++at;
    }
  }
  if (ended) options_.on_done();
  return texts;
}

void Streamer::run_pass(const Texts& texts) {
  std::vector<PassText> all;
  for (const auto& [waiting, text] : texts) all.push_back(text);
  Watch watch(*this, texts);
  const double start = steady_seconds();
  {
    std::lock_guard lock(mutex_);
    pass_tokens_ = tokens_of(texts);
    pass_start_ = start;
  }
  const uint64_t copied = runner_->copied_bytes();
  std::exception_ptr trouble;
  try {
    runner_->run(all, watch);
  } catch (...) {
    trouble = std::current_exception();
  }
  const uint64_t copied_now = runner_->copied_bytes() - copied;
  Outcome outcome = Outcome::kFilled;
  if (trouble) {
    outcome = runner_->ended() ? Outcome::kFailed : Outcome::kLost;
    runner_.reset();
  }
  {
    std::lock_guard lock(mutex_);
    pass_tokens_ = 0;
    last_pass_ = steady_seconds();
    ++figures_.passes;
    figures_.pass_seconds += last_pass_ - start;
    figures_.copied_bytes += copied_now;
    if (trouble) {
      ++figures_.failed_passes;
      leave_runner();
    } else {
      learn(texts, last_pass_ - start);
    }
    settle(texts, outcome);
  }
  options_.on_done();
  if (trouble) give_up(trouble);
  if (outcome == Outcome::kLost && options_.tell) {
    options_.tell("pages of keys and values that the GPU may still write are not used again");
  }
}

// Goes on without a runner for a while.
void Streamer::give_up(const std::exception_ptr& trouble) {
  next_try_ = steady_seconds() + options_.retry_seconds;
  if (!options_.tell) return;
  try {
    std::rethrow_exception(trouble);
  } catch (const std::exception& error) {
    const std::string bits =
        rule_ ? fmt::format(", and prompts of {} tokens and more have their bits, which are others",
                            rule_->threshold)
              : "";
    options_.tell(
        fmt::format("the GPU is left out, the cores compute all{}: {}", bits, error.what()));
  }
}

// Counts what the pass did, under the lock.
void Streamer::settle(const Texts& texts, Outcome outcome) {
  for (const auto& [waiting, text] : texts) {
    waiting->done += static_cast<uint32_t>(text.tokens.size());
    if (waiting->let_go) {
      end(waiting, Outcome::kLetGo);
    } else if (outcome != Outcome::kFilled) {
      end(waiting, outcome);
    } else if (waiting->done == waiting->prompt.tokens.size()) {
      ++figures_.prompts;
      figures_.tokens += waiting->prompt.tokens.size();
      end(waiting, Outcome::kFilled);
    }
  }
}

// Those that were let go are done already.
void Streamer::end(Waiting* waiting, Outcome outcome) noexcept {
  if (!waiting->let_go) done_.push_back({waiting->prompt.id, outcome});
  prompts_.remove_if([&](const Waiting& one) { return &one == waiting; });
}

void Streamer::fail_all() noexcept {
  {
    std::lock_guard lock(mutex_);
    if (prompts_.empty()) return;
    for (const Waiting& waiting : prompts_) {
      if (!waiting.let_go) done_.push_back({waiting.prompt.id, Outcome::kFailed});
    }
    prompts_.clear();
  }
  options_.on_done();
}

}  // namespace hearth
