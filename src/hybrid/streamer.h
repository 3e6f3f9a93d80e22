// Fills the pages of prompts beside the engine's steps: a thread of its own computes the prompts in
// passes while the engine goes on.
//
// The runner does the work of the paper's loader, model and unloader (OSDI'26, "hybrid MoE", 3.1).
// This class asks for passes. Prompts that wait share a pass, in the order of their arrival. A
// prompt that is longer than a pass takes several.
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
  uint64_t prompts = 0, tokens = 0;  // of the prompts filled
  uint64_t passes = 0, failed_passes = 0;
  uint64_t copied_bytes = 0;  // by all passes, both ways
  double pass_seconds = 0;    // of all passes
  // Figures of the runner now, 0 while there is none: the most tokens of its passes, then as in
  // PassRunner.
  uint32_t pass_rows = 0, kept_layers = 0;
  uint64_t bytes_in_flight = 0;
  uint32_t threshold = 0;  // streams prompts of this many tokens or more; 0: if faster
};

// Says which prompts, and which of their positions, are streamed where an accelerator's bits are
// not those of the cores. Both choices follow from a prompt's length alone, like the choice of
// expanded rows (engine/engine_options.h). So a text has the same bits whatever else is under way.
struct StreamRule {
  uint32_t threshold = 0;  // streams prompts of this many tokens or more

  // Returns how many of a prompt's first positions are streamed: a multiple of step(), at most all
  // but the last. Cores take about as long for the rest, less than a step, as a pass would. So a
  // question after a cached text seldom makes a short pass.
  uint32_t positions(uint32_t prompt) const;
  uint32_t step() const;  // in positions; a multiple of a page
};

// The interface that the engine uses, from one thread.
class PromptStreamer {
 public:
  struct Prompt {
    uint64_t id = 0;  // the caller's
    std::vector<int32_t> tokens;
    uint32_t first_position = 0;
    std::vector<uint32_t> pages;
    std::vector<uint32_t> window_pages = {};  // this and `expanded` as in PassText
    uint32_t expanded = 0;
  };
  // kFilled: the pages hold the whole prompt. kLetGo: the prompt was cancelled. kFailed: the cores
  // must compute it. In these three cases nothing touches its pages any more. kLost: it failed, and
  // its pages may still be written at any later time.
  enum class Outcome : uint8_t { kFilled, kLetGo, kFailed, kLost };
  struct Done {
    uint64_t id;
    Outcome outcome;
  };

  virtual ~PromptStreamer() = default;
  // Whether a prompt of `tokens` tokens after `before` others, whose pages are filled, ends sooner
  // here than after `core_seconds`. 0: the cores' time is not known.
  virtual bool takes(uint32_t tokens, uint32_t before, double core_seconds) = 0;
  // Says which positions have the accelerator's bits, where its bits are not those of the cores;
  // takes() then only says whether a prompt can be streamed now. None: the bits are the same.
  virtual std::optional<StreamRule> rule() const { return {}; }
  virtual void begin(Prompt prompt) = 0;
  // Cancels a prompt. It ends soon, with any outcome.
  virtual void cancel(uint64_t id) = 0;
  // Returns the prompts that have ended since the last call; each is returned once.
  virtual std::vector<Done> take_done() = 0;
  // Returns the figures so far.
  virtual StreamerFigures figures() const { return {}; }
};

struct StreamerOptions {
  uint32_t threshold = 0;              // streams prompts of this many tokens or more; 0: by time
  std::vector<uint32_t> pus = {};      // the processors its thread may run on; empty: any
  double retry_seconds = 60;           // the least time between attempts after a failure
  std::function<void()> on_done = {};  // called by its thread when a prompt ends
  // Called by the streamer's thread with a sentence on what happened to the accelerator.
  std::function<void(const std::string&)> warn = {};
  // Returns the predicted seconds of a pass over so many rows; empty: not known.
  std::function<double(uint32_t rows)> predicted_seconds = {};
  // Returns the seconds that `before` tokens of a text before these rows add to a pass; empty:
  // none.
  std::function<double(uint32_t rows, uint32_t before)> prefix_seconds = {};
  bool learns = true;                  // the times of real passes correct both predictions
  std::function<double()> clock = {};  // seconds; empty: the steady clock
};

class Streamer : public PromptStreamer {
 public:
  // Makes a runner, at the start and again after a failure. Throws Error where it cannot.
  using Make = std::function<std::unique_ptr<PassRunner>()>;

  // Makes the first runner on the streamer's thread; throws what `make` throws.
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
    uint32_t done = 0;  // tokens that are filled
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
  std::list<Waiting> prompts_;  // by arrival, with those of the pass under way
  std::vector<Done> done_;      // with room for all prompts
  StreamerFigures figures_;
  PassRoom room_;         // of the runner; rows of 0: there is no runner
  double slower_ = 1;     // seconds that passes take, over predicted seconds
  double last_pass_ = 0;  // when it ended, by the clock
  // The pass under way: its tokens (0: no pass runs), when it began, and its predicted seconds (0:
  // not known).
  uint32_t pass_tokens_ = 0;
  double pass_start_ = 0, pass_seconds_ = 0;
  bool stopping_ = false;

  // Members that only the streamer's thread uses.
  std::unique_ptr<PassRunner> runner_;
  double next_try_ = 0;  // by the clock
  std::thread thread_;
};

}  // namespace hearth
