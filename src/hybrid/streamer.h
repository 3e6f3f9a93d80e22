// Fills the pages of prompts while the engine does its steps: a thread of the streamer's own
// computes the prompts in passes.
//
// The runner does the work of the paper's loader, model and unloader (OSDI'26, "hybrid MoE", 3.1).
// This class decides which pass it runs next. Waiting prompts share a pass, in the order of their
// arrival. A prompt that is longer than a pass takes several.
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
  uint64_t prompts = 0, tokens = 0;  // of all prompts that were filled
  uint64_t passes = 0, failed_passes = 0;
  uint64_t copied_bytes = 0;  // by all passes, both ways
  double pass_seconds = 0;    // of all passes
  // Figures of the present runner; 0 while there is none. pass_rows is the most tokens of its
  // passes; the others are as in PassRunner.
  uint32_t pass_rows = 0, kept_layers = 0;
  uint64_t bytes_in_flight = 0;
  uint32_t threshold = 0;  // streams prompts of this many tokens or more; 0: if faster
};

// Says which positions of which prompts are streamed, for an accelerator whose bits differ from
// those of the cores. Both follow from the length of a prompt only, as does the choice of expanded
// rows (engine/engine_options.h). So a text has the same bits whatever else the engine does.
struct StreamRule {
  uint32_t threshold = 0;  // streams prompts of this many tokens or more

  // Returns how many of a prompt's first positions are streamed: a multiple of step(), and never
  // the last position. The rest is less than a step, and takes the cores about as long as a pass.
  // So a question behind a cached text seldom makes a short pass.
  uint32_t positions(uint32_t prompt) const;
  uint32_t step() const;  // in positions; a multiple of a page
};

// The interface by which the engine uses a streamer, from one thread.
class PromptStreamer {
 public:
  struct Prompt {
    uint64_t id = 0;  // chosen by the caller
    std::vector<int32_t> tokens;
    uint32_t first_position = 0;
    std::vector<uint32_t> pages;
    std::vector<uint32_t> window_pages = {};  // this and `expanded` as in PassText
    uint32_t expanded = 0;
  };
  // kFilled: the pages hold the whole prompt. kLetGo: the prompt was cancelled. kFailed: the cores
  // must compute the prompt. With these three, nothing touches its pages any more. kLost: the
  // prompt failed too, but its pages may still be written at any later time.
  enum class Outcome : uint8_t { kFilled, kLetGo, kFailed, kLost };
  struct Done {
    uint64_t id;
    Outcome outcome;
  };

  virtual ~PromptStreamer() = default;
  // Whether to stream a prompt of `tokens` tokens after `before` others, whose pages are filled:
  // whether it would end sooner than by the cores, which need `core_seconds` for it. 0: that time
  // is not known.
  virtual bool takes(uint32_t tokens, uint32_t before, double core_seconds) = 0;
  // Says which positions get the accelerator's bits, if these differ from those of the cores;
  // takes() then only says whether a prompt can be streamed now. None: the bits are the same.
  virtual std::optional<StreamRule> rule() const { return {}; }
  virtual void begin(Prompt prompt) = 0;
  // Cancels a prompt. It then ends soon, with whatever outcome.
  virtual void cancel(uint64_t id) = 0;
  // Returns the prompts that have ended since the last call; each is returned once.
  virtual std::vector<Done> take_done() = 0;
  // Returns the figures so far.
  virtual StreamerFigures figures() const { return {}; }
};

struct StreamerOptions {
  uint32_t threshold = 0;              // streams prompts of at least this many tokens; 0: by time
  std::vector<uint32_t> pus = {};      // where its thread may run; empty: anywhere
  double retry_seconds = 60;           // from a failure to the next attempt
  std::function<void()> on_done = {};  // called by its thread when a prompt ends
  // Called by the streamer's thread, with a sentence on what happened to the accelerator.
  std::function<void(const std::string&)> warn = {};
  // Returns the predicted seconds of a pass over so many rows; empty: not known.
  std::function<double(uint32_t rows)> predicted_seconds = {};
  // Returns by how many seconds `before` earlier tokens of a text make a pass over these rows
  // longer; empty: by none.
  std::function<double(uint32_t rows, uint32_t before)> prefix_seconds = {};
  bool learns = true;                  // whether the times of passes correct predictions
  std::function<double()> clock = {};  // seconds; empty: the steady clock
};

class Streamer : public PromptStreamer {
 public:
  // Makes a runner: at the start, and again after a failure. Throws Error if it cannot.
  using Make = std::function<std::unique_ptr<PassRunner>()>;

  // Makes the first runner, on the streamer's thread. Throws what `make` throws.
  Streamer(Make make, StreamerOptions options);
  // A pass that is under way ends at its next layer.
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
    uint32_t done = 0;  // how many tokens are filled
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
  std::list<Waiting> prompts_;  // in order of arrival, those of the pass under way too
  std::vector<Done> done_;      // with room for all prompts
  StreamerFigures figures_;
  PassRoom room_;         // of the runner; rows of 0: there is no runner
  double slower_ = 1;     // seconds of passes over predicted seconds
  double last_pass_ = 0;  // when the last pass ended, by the clock
  // The pass under way: its tokens (0: no pass runs), when it began, and its predicted seconds (0:
  // not known).
  uint32_t pass_tokens_ = 0;
  double pass_start_ = 0, pass_seconds_ = 0;
  bool stopping_ = false;

  // The next members are used only by the streamer's thread.
  std::unique_ptr<PassRunner> runner_;
  double next_try_ = 0;  // by the clock
  std::thread thread_;
};

}  // namespace hearth
