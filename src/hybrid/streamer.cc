#include "hybrid/streamer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "kernels/attention/attention.h"
#include "threads/pin.h"
#include "threads/start_thread.h"

namespace hearth {

uint32_t StreamRule::step() const {
  // The cores compute the part of a prompt behind its last whole step. If steps were longer, that
  // part would take the cores longer than a pass would.
  constexpr uint32_t kMaxPages = 8;
  return std::clamp(threshold / kPagePositions, 1U, kMaxPages) * kPagePositions;
}

uint32_t StreamRule::positions(uint32_t prompt) const {
  return prompt == 0 || prompt < threshold ? 0 : (prompt - 1) / step() * step();
}

// Tells the runner which prompts of a pass were cancelled while it runs.
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

// Predicts the passes that texts will take, one after another. Texts share a pass as long as it has
// rows left.
class Streamer::Passes {
 public:
  explicit Passes(const Streamer& of) : of_(of) {}

  // Adds `tokens` tokens of a text, with `before` tokens of that text in front of them.
  void add(uint32_t tokens, uint32_t before) {
    while (tokens > 0) {
      const uint32_t some = std::min(tokens, of_.room_.rows - rows_);
      if (of_.options_.prefix_seconds) prefixes_ += of_.options_.prefix_seconds(some, before);
      rows_ += some;
      before += some;
      tokens -= some;
      if (rows_ == of_.room_.rows) end_pass();
    }
  }
  // Returns the predicted seconds of all passes.
  double seconds() {
    if (rows_ > 0) end_pass();
    return seconds_;
  }

 private:
  void end_pass() {
    seconds_ += of_.options_.predicted_seconds(rows_) + prefixes_;
    rows_ = 0;
    prefixes_ = 0;
  }

  const Streamer& of_;
  uint32_t rows_ = 0;                  // rows of the last pass
  double prefixes_ = 0, seconds_ = 0;  // prefixes_: of the last pass
};

Streamer::Streamer(Make make, StreamerOptions options)
    : make_(std::move(make)), options_(std::move(options)) {
  if (!options_.on_done) options_.on_done = [] {};
  if (!options_.clock) options_.clock = steady_seconds;
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

// Returns the predicted seconds of a pass over these texts; 0: not known.
double Streamer::predicted_seconds(const Texts& texts) const {
  if (!options_.predicted_seconds) return 0;
  Passes pass(*this);
  for (const auto& [waiting, text] : texts) {
    pass.add(static_cast<uint32_t>(text.tokens.size()), text.first_position);
  }
  return pass.seconds();
}

// Corrects predictions by a pass that has ended. The pass counts half, and its own correction is
// limited to a factor of 2 from the present one, since it may have been slow for other reasons.
void Streamer::learn(double predicted, double seconds) {
  if (!options_.learns || !std::isfinite(predicted) || predicted <= 0) return;
  slower_ = (slower_ + std::clamp(seconds / predicted, slower_ / 2, slower_ * 2)) / 2;
}

// Returns the predicted seconds until a prompt of `tokens` tokens after `before` others is filled.
// They include the rest of the pass under way and all waiting prompts. They are corrected by the
// times that earlier passes have taken.
double Streamer::seconds_behind_all(uint32_t tokens, uint32_t before) const {
  Passes passes(*this);
  uint32_t under_way = pass_tokens_;  // tokens in the pass, which are the first prompts'
  for (const Waiting& waiting : prompts_) {
    const uint32_t left = static_cast<uint32_t>(waiting.prompt.tokens.size()) - waiting.done;
    const uint32_t taken = std::min(left, under_way);
    under_way -= taken;
    passes.add(left - taken, waiting.prompt.first_position + waiting.done + taken);
  }
  passes.add(tokens, before);
  const double seconds = passes.seconds() * slower_;
  if (pass_tokens_ == 0) return seconds;
  return seconds + std::max(pass_seconds_ * slower_ - (options_.clock() - pass_start_), 0.0);
}

bool Streamer::takes(uint32_t tokens, uint32_t before, double core_seconds) {
  std::lock_guard lock(mutex_);
  if (room_.rows == 0 || pages_for(before + tokens) > room_.pages) return false;
  if (rule_) return true;
  if (options_.threshold > 0) return tokens >= options_.threshold;
  if (!options_.predicted_seconds || core_seconds <= 0) return false;
  // Drops a correction if no pass ran for long. Otherwise slow passes in the past might keep new
  // ones from being tried for ever.
  if (options_.clock() - last_pass_ > options_.retry_seconds) slower_ = 1;
  return seconds_behind_all(tokens, before) < core_seconds;
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
      const auto left = [&] { return next_try_ - options_.clock(); };
      if (const double seconds = left(); seconds > 0) {
        changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                          [&] { return something() || left() <= 0; });
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
      fail_all();  // there is not enough memory to form a pass
    }
    lock.lock();
  }
}

// Tries to make a new runner; if that fails, sets the time of the next attempt.
void Streamer::remake() {
  try {
    runner_ = make_();
    std::lock_guard lock(mutex_);
    take_runner();
  } catch (const std::exception&) {
    next_try_ = options_.clock() + options_.retry_seconds;
    return;
  }
  if (options_.warn) options_.warn("the GPU works again: prompts are streamed through it");
}

uint32_t Streamer::tokens_of(const Texts& texts) {
  uint32_t tokens = 0;
  for (const auto& [waiting, text] : texts) tokens += static_cast<uint32_t>(text.tokens.size());
  return tokens;
}

// Forms a pass from the first tokens of the waiting prompts, as far as the runner has rows and
// pages. Cancelled prompts end here.
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
                        first_of(at->prompt.window_pages), at->prompt.expanded}});
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
  const double predicted = predicted_seconds(texts), start = options_.clock();
  {
    std::lock_guard lock(mutex_);
    pass_tokens_ = tokens_of(texts);
    pass_start_ = start;
    pass_seconds_ = predicted;
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
    last_pass_ = options_.clock();
    ++figures_.passes;
    figures_.pass_seconds += last_pass_ - start;
    figures_.copied_bytes += copied_now;
    if (trouble) {
      ++figures_.failed_passes;
      leave_runner();
    } else {
      learn(predicted, last_pass_ - start);
    }
    settle(texts, outcome);
  }
  options_.on_done();
  if (trouble) give_up(trouble);
  if (outcome == Outcome::kLost && options_.warn) {
    options_.warn("some KV cache pages stay unused, as the GPU may still write to them");
  }
}

// Sets the time of the next attempt to make a runner, and tells the user why the old one failed.
void Streamer::give_up(const std::exception_ptr& trouble) {
  next_try_ = options_.clock() + options_.retry_seconds;
  if (!options_.warn) return;
  try {
    std::rethrow_exception(trouble);
  } catch (const std::exception& error) {
    const std::string bits =
        rule_ ? fmt::format(
                    ", so results for prompts of {} tokens and more may differ in the last bits",
                    rule_->threshold)
              : "";
    options_.warn(
        fmt::format("the GPU is not used any more, and the cores compute all prompts{}: {}", bits,
                    error.what()));
  }
}

// Counts the tokens of a pass that has ended, and ends prompts that are finished. The caller holds
// the lock.
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

// Ends a prompt with this outcome. A prompt that was let go already has an outcome.
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
