// The thread that forms passes, with passes that end when a test says so.
#include "hybrid/streamer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>

#include "kernels/attention/attention.h"

namespace hearth {
namespace {

// Begins passes and waits.
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

// Hours, so that it does not matter how long the test takes: 1,000 for a pass and 100 a token.
double predicted(uint32_t rows) { return 3600.0 * (1000 + 100 * rows); }

TEST(Streamer, APromptComesBehindThePassUnderWayAndWhatWaits) {
  Gate gate;
  Streamer streamer([&] { return std::make_unique<GatedPass>(gate); },
                    {.predicted_seconds = predicted});
  const auto takes = [&](uint32_t tokens, double hours) {
    const bool more = streamer.takes(tokens, 1, 3600 * (hours + 1));
    return more && !streamer.takes(tokens, 1, 3600 * (hours - 1));
  };
  EXPECT_TRUE(takes(10, 2000));
  EXPECT_TRUE(takes(150, 2 * 1000 + 150 * 100)) << "two passes";
  streamer.begin(prompt(1, 50));
  gate.wait_for_pass(1);
  EXPECT_TRUE(takes(10, 6000 + 2000)) << "a pass of its own";
  streamer.begin(prompt(2, 30));
  EXPECT_TRUE(takes(10, 6000 + 5000)) << "it shares a pass with what waits";
  gate.let_pass(std::numeric_limits<uint32_t>::max());
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
