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
};

// Used by one thread, the engine's.
class PromptStreamer {
 public:
  struct Prompt {
    uint64_t id = 0;  // the caller's
    std::vector<int32_t> tokens;
    uint32_t first_position = 0;
    std::vector<uint32_t> pages;
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
  // Whether a prompt of so many tokens, which lie in so many pages, ends sooner here than after
  // `core_seconds`; 0: what the cores need is not known.
  virtual bool takes(uint32_t tokens, uint32_t pages, double core_seconds) = 0;
  virtual void begin(Prompt prompt) = 0;
  // It ends soon, with whatever outcome.
  virtual void cancel(uint64_t id) = 0;
  // What has ended since the last call; each prompt once.
  virtual std::vector<Done> take_done() = 0;
  // So far.
  virtual StreamerFigures figures() const { return {}; }
};

struct StreamerOptions {
  uint32_t threshold = 0;              // tokens from which on prompts are streamed; 0: by time
  std::vector<uint32_t> pus = {};      // where its thread may run; empty: anywhere
  double retry_seconds = 60;           // between tries after a failure
  std::function<void()> on_done = {};  // by its thread, whenever something has ended
  // One sentence on what happens to the accelerator; by its thread.
  std::function<void(const std::string&)> tell = {};
  // Seconds that a pass over so many rows takes, as predicted; empty: not known.
  std::function<double(uint32_t rows)> predicted_seconds = {};
  bool learns = true;  // what passes take corrects that
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

  bool takes(uint32_t tokens, uint32_t pages, double core_seconds) override;
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

  void work();
  void remake();
  Texts form();
  void run_pass(const Texts& texts);
  void give_up(const std::exception_ptr& trouble);
  void settle(const Texts& texts, Outcome outcome);
  void end(Waiting* waiting, Outcome outcome) noexcept;
  void fail_all() noexcept;
  // As predicted, and corrected by what passes have taken.
  double seconds_of(uint64_t tokens) const;
  void learn(const Texts& texts, double seconds);

  const Make make_;
  StreamerOptions options_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Waiting> prompts_;  // by arrival; those of a pass under way too
  std::vector<Done> done_;      // with room for all prompts
  StreamerFigures figures_;
  PassRoom room_;         // of the runner; no rows: there is none
  double slower_ = 1;     // passes than predicted
  double last_pass_ = 0;  // when it ended, by the steady clock
  bool stopping_ = false;

  // The thread's own.
  std::unique_ptr<PassRunner> runner_;
  double next_try_ = 0;  // by the steady clock
  std::thread thread_;
};

}  // namespace hearth
