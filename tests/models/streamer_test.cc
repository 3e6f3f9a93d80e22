// Tests of the thread that forms passes. The passes end when the test says so.
#include "hybrid/streamer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>

#include "base/error.h"
#include "kernels/attention/attention.h"
#include "streaming.h"

namespace hearth {
namespace {

// Counts passes that have begun, and keeps them from ending.
struct Gate {
  std::atomic<uint32_t> begun = 0, open = 0;

  void wait_for_pass(uint32_t number) const {
    for (uint32_t seen = begun; seen < number; seen = begun) begun.wait(seen);
  }
  void let_pass(uint32_t number) {
    open = number;
    open.notify_all();
  }
};

class GatedPass : public PassRunner {
 public:
  explicit GatedPass(Gate& gate) : gate_(gate) {}
  PassRoom room() const override { return {100, 100}; }
  void run(std::span<const PassText>, PassWatch&) override {
    const uint32_t number = ++gate_.begun;
    gate_.begun.notify_all();
    for (uint32_t seen = gate_.open; seen < number; seen = gate_.open) gate_.open.wait(seen);
  }
  bool ended() const override { return true; }

 private:
  Gate& gate_;
};

PromptStreamer::Prompt prompt(uint64_t id, uint32_t tokens) {
  PromptStreamer::Prompt made{id, std::vector<int32_t>(tokens), 0, {}};
  made.pages.resize(pages_for(tokens));
  return made;
}

// Options that predict 1,000 s for a pass and 100 s a token. A token before the prompt's rest costs
// 1 s.
StreamerOptions predicting(std::function<double()> clock) {
  return {.predicted_seconds = [](uint32_t rows) { return 1000.0 + 100 * rows; },
          .prefix_seconds = [](uint32_t, uint32_t before) { return 1.0 * before; },
          .clock = std::move(clock)};
}

// Returns whether a prompt is predicted to take `seconds`.
bool takes(Streamer& streamer, uint32_t tokens, uint32_t before, double seconds) {
  return streamer.takes(tokens, before, seconds + 0.5) &&
         !streamer.takes(tokens, before, seconds - 0.5);
}

TEST(Streamer, APromptComesBehindThePassUnderWayAndWhatWaits) {
  Gate gate;
  std::atomic<double> now = 0;
  Streamer streamer([&] { return std::make_unique<GatedPass>(gate); },
                    predicting([&] { return now.load(); }));
  EXPECT_TRUE(takes(streamer, 10, 0, 2000));
  streamer.begin(prompt(1, 50));
  gate.wait_for_pass(1);
  EXPECT_TRUE(takes(streamer, 10, 0, 6000 + 2000)) << "a pass of its own";
  streamer.begin(prompt(2, 30));
  EXPECT_TRUE(takes(streamer, 10, 0, 6000 + 5000)) << "it shares a pass with what waits";
  now = 2500;
  EXPECT_TRUE(takes(streamer, 10, 0, 3500 + 5000));
  now = 7000;
  EXPECT_TRUE(takes(streamer, 10, 0, 5000)) << "late, it may end at any time";
  gate.let_pass(std::numeric_limits<uint32_t>::max());
}

TEST(Streamer, TokensBeforeCountInEveryPass) {
  Gate gate;
  Streamer streamer([&] { return std::make_unique<GatedPass>(gate); },
                    predicting([] { return 0; }));
  EXPECT_TRUE(takes(streamer, 10, 640, 2000 + 640));
  EXPECT_TRUE(takes(streamer, 250, 0, 3 * 1000 + 250 * 100 + 100 + 200))
      << "its own of the passes before";
  PromptStreamer::Prompt deep = prompt(1, 150);
  deep.first_position = 64;
  deep.pages.resize(pages_for(64 + 150));
  streamer.begin(std::move(deep));
  gate.wait_for_pass(1);
  const double under_way = 11000 + 64, rest = 1000 + 50 * 100 + 164;
  EXPECT_TRUE(takes(streamer, 10, 0, under_way + rest + 10 * 100)) << "shares the second pass";
  EXPECT_TRUE(takes(streamer, 60, 7, under_way + 1000 + 100 * 100 + 164 + 7 + 1000 + 10 * 100 + 57))
      << "50 rows of it, then 10 behind 57";
  gate.let_pass(std::numeric_limits<uint32_t>::max());
}

class FailingPass : public PassRunner {
 public:
  PassRoom room() const override { return {100, 100}; }
  void run(std::span<const PassText>, PassWatch&) override {
    fail(ErrorCode::kResource, "it is lost");
  }
  bool ended() const override { return true; }
};

// The streamer's first GPU fails, and its second attempt to open one finds no GPU.
TEST(Streamer, AGpuIsTriedAgainAtMostOnceAMinute) {
  Gate gate;
  gate.let_pass(std::numeric_limits<uint32_t>::max());
  std::atomic<double> now = 0;
  Notices tries, ends, notices;
  std::vector<double> tried;
  const auto make = [&]() -> std::unique_ptr<PassRunner> {
    tried.push_back(now);
    tries.notify();
    if (tried.size() == 1) return std::make_unique<FailingPass>();
    if (tried.size() == 2) fail(ErrorCode::kResource, "there is none");
    return std::make_unique<GatedPass>(gate);
  };
  {
    StreamerOptions options{.threshold = 1, .on_done = [&] { ends.notify(); }};
    options.warn = [&](const std::string&) { notices.notify(); };
    options.clock = [&] { return now.load(); };
    Streamer streamer(make, std::move(options));
    uint64_t prompts = 0;
    const auto outcome = [&] {
      streamer.begin(prompt(++prompts, 10));
      ends.wait_for(prompts);
      return streamer.take_done().at(0).outcome;
    };
    // The streamer is idle again once a prompt has come back for lack of a GPU.
    const auto expect_none = [&] {
      EXPECT_FALSE(streamer.takes(10, 0, 0));
      EXPECT_EQ(outcome(), PromptStreamer::Outcome::kFailed);
    };
    EXPECT_TRUE(streamer.takes(10, 0, 0));
    EXPECT_EQ(outcome(), PromptStreamer::Outcome::kFailed);
    expect_none();
    now = 59;
    expect_none();
    now = 60;
    streamer.cancel(0);  // its thread looks at the clock again
    tries.wait_for(2);
    expect_none();
    now = 119;
    expect_none();
    now = 120;
    streamer.cancel(0);
    notices.wait_for(2);  // the GPU is left out, and is back
    EXPECT_TRUE(streamer.takes(10, 0, 0));
    EXPECT_EQ(outcome(), PromptStreamer::Outcome::kFilled);
  }
  EXPECT_EQ(tried, (std::vector<double>{0, 60, 120}));
}

TEST(StreamRule, TakesWholeStepsOfALongPrompt) {
  const StreamRule few{100}, many{3000};
  EXPECT_EQ(few.step(), 64u);
  EXPECT_EQ(few.positions(99), 0u);
  EXPECT_EQ(few.positions(100), 64u);
  EXPECT_EQ(few.positions(128), 64u) << "the last token comes with a step";
  EXPECT_EQ(few.positions(129), 128u);
  EXPECT_EQ(many.step(), 512u);
  EXPECT_EQ(many.positions(2999), 0u);
  EXPECT_EQ(many.positions(3000), 2560u);
  EXPECT_EQ(StreamRule{10}.step(), 64u);
  EXPECT_EQ(StreamRule{10}.positions(64), 0u);
}

}  // namespace
}  // namespace hearth
