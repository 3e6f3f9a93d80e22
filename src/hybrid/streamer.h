// Prompts whose pages are filled beside the engine's steps: what is given in is computed in passes,
// by a thread of its own, while the engine goes on.
//
// The paper's loader, model and unloader (OSDI'26, "hybrid MoE", 3.1) are the runner's; here is who
// asks for passes: prompts that wait share one, in the order of their arrival, and one that is
// longer than a pass takes several.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "hybrid/pass_runner.h"

namespace hearth {

struct StreamerFigures {
  uint64_t prompts = 0, tokens = 0;  // filled
  uint64_t passes = 0, failed_passes = 0;
  uint64_t copied_bytes = 0;  // by all passes, both ways
  double pass_seconds = 0;    // of all passes
  // Figures of the passes now, 0 while there are none: their most tokens, and as in PassRunner.
  uint32_t pass_rows = 0, kept_layers = 0;
  uint64_t bytes_in_flight = 0;
  uint32_t threshold = 0;  // tokens from which on prompts are streamed; 0: where they end sooner
};

// Says which prompts are streamed where an accelerator's bits are not those of the cores, and which
// positions of them: that follows from a prompt's length alone, as with rows that are expanded
// (engine/engine_options.h), so that a text has the same bits whatever else is under way.
struct StreamRule {
  uint32_t threshold = 0;  // tokens from which on a prompt is streamed

  // Returns how many of a prompt's positions are streamed, the first ones, all but the last at
  // most: whole steps. A part of a step takes about as long on the cores as a pass, so that
  // questions behind a text that is cached seldom make a short one.
  uint32_t positions(uint32_t prompt) const;
  uint32_t step() const;  // positions, whole pages
};

// Used by one thread, the engine's.
class PromptStreamer {
 public:
  struct Prompt {
    uint64_t id = 0;  // the caller's
    std::vector<int32_t> tokens;
    uint32_t first_position = 0;
    std::vector<uint32_t> pages;
    std::vector<uint32_t> window_pages = {};  // PassText's, as what follows
    uint32_t expanded = 0;
  };
  // Filled: its pages hold all of it. Let go: it was cancelled. Failed: the cores compute it. In
  // all three cases nothing touches its pages any more. Lost: as failed, but its pages may still be
  // written, for ever.
  enum class Outcome : uint8_t { kFilled, kLetGo, kFailed, kLost };
  struct Done {
    uint64_t id;
    Outcome outcome;
  };

  virtual ~PromptStreamer() = default;
  // Whether a prompt of so many tokens behind `before` others, whose pages are filled, ends sooner
  // here than after `core_seconds`; 0: what the cores need is not known.
  virtual bool takes(uint32_t tokens, uint32_t before, double core_seconds) = 0;
  // Says which positions have the accelerator's bits, where those are not the cores'; takes() then
  // only says whether they can be streamed now. None: either may compute any of them.
  virtual std::optional<StreamRule> rule() const { return {}; }
  virtual void begin(Prompt prompt) = 0;
  // Cancels a prompt, which ends soon, with whatever outcome.
  virtual void cancel(uint64_t id) = 0;
  // Returns the prompts that have ended since the last call; each once.
  virtual std::vector<Done> take_done() = 0;
  // Returns the figures so far.
  virtual StreamerFigures figures() const { return {}; }
};

struct StreamerOptions {
  uint32_t threshold = 0;              // tokens from which on prompts are streamed; 0: by time
  std::vector<uint32_t> pus = {};      // where its thread may run; empty: anywhere
  double retry_seconds = 60;           // between tries after a failure, at least
  std::function<void()> on_done = {};  // by its thread, whenever something has ended
  // Takes a sentence on what happens to the accelerator; called by the streamer's thread.
  std::function<void(const std::string&)> tell = {};
  // Seconds that a pass over so many rows takes, as predicted; empty: not known.
  std::function<double(uint32_t rows)> predicted_seconds = {};
  // Returns the seconds that a pass takes longer where a text has `before` tokens before these
  // rows; empty: none.
  std::function<double(uint32_t rows, uint32_t before)> prefix_seconds = {};
  bool learns = true;                  // what passes take corrects both
  std::function<double()> clock = {};  // seconds; empty: the steady clock
};

class Streamer : public PromptStreamer {
 public:
  // Makes a runner: at the start, and anew after it failed. Throws Error where it cannot.
  using Make = std::function<std::unique_ptr<PassRunner>()>;

  // Makes the first runner on its thread; throws what that throws.
  Streamer(Make make, StreamerOptions options);
  // Ends a pass at its next layer.
  ~Streamer() override;
  Streamer(const Streamer&) = delete;
  Streamer& operator=(const Streamer&) = delete;

  bool takes(uint32_t tokens, uint32_t before, double core_seconds) override;
  std::optional<StreamRule> rule() const override { return rule_; }
  // Sets the rule, before the first prompt comes.
  void set_rule(const StreamRule& rule) { rule_ = rule; }
  void begin(Prompt prompt) override;
  void cancel(uint64_t id) override;
  std::vector<Done> take_done() override;

  StreamerFigures figures() const override;

 private:
  struct Waiting {
    Prompt prompt;
    uint32_t done = 0;  // tokens
    bool cancelled = false;
    bool let_go = false;
  };
  using Texts = std::vector<std::pair<Waiting*, PassText>>;
  class Watch;

  void take_runner();
  void leave_runner();
  void work();
  void remake();
  static uint32_t tokens_of(const Texts& texts);
  Texts form();
  void run_pass(const Texts& texts);
  void give_up(const std::exception_ptr& trouble);
  void settle(const Texts& texts, Outcome outcome);
  void end(Waiting* waiting, Outcome outcome) noexcept;
  void fail_all() noexcept;
  class Passes;
  double predicted_seconds(const Texts& texts) const;
  double seconds_behind_all(uint32_t tokens, uint32_t before) const;
  void learn(double predicted, double seconds);

  const Make make_;
  StreamerOptions options_;
  std::optional<StreamRule> rule_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Waiting> prompts_;  // by arrival; those of a pass under way too
  std::vector<Done> done_;      // with room for all prompts
  StreamerFigures figures_;
  PassRoom room_;         // of the runner; no rows: there is none
  double slower_ = 1;     // passes than predicted
  double last_pass_ = 0;  // when it ended, by the clock
  // The pass under way: its tokens, 0 where there is none, when it began, and what it takes as
  // predicted, where that is known.
  uint32_t pass_tokens_ = 0;
  double pass_start_ = 0, pass_seconds_ = 0;
  bool stopping_ = false;

  // The thread's own.
  std::unique_ptr<PassRunner> runner_;
  double next_try_ = 0;  // by the clock
  std::thread thread_;
};

}  // namespace hearth
