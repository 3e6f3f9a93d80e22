// Tests of models with layers that see a window: how much of a text is computed again after its
// window pages were given back.
#include "scheduler_fixture.h"

namespace hearth {
namespace {

class SchedulerWindowsTest : public SchedulerTest {
 protected:
  static constexpr uint32_t kWindow = 100;

  SchedulerWindowsTest() { file_ = parse_gguf(tiny_gemma3(kTiniest, kWindow), "tiny"); }

  static EngineOptions roomy(uint32_t context, uint32_t window_pages) {
    EngineOptions options = SchedulerTest::roomy(context);
    options.window_pages = window_pages;
    return options;
  }
  // Expects the results of the same request on a fresh engine that gives back no page.
  void expect_alone(const Request& request, const std::vector<Result>& results) {
    EngineOptions kept = roomy(4096, 0);
    kept.gives_back = false;
    expect_tokens(results, get_alone(*tiny_engine(file_, kept), request).choices[0].tokens);
  }
};

// There are window pages for a step of only one text.
TEST_F(SchedulerWindowsTest, ATurnComputesItsOwnTokensAndAPageAtMost) {
  start(roomy(4096, 3 + 4));
  run_turns(4096, 12, [&](const Request& request, size_t, const std::vector<Result>& results) {
    expect_alone(request, results);
  });
  EXPECT_EQ(statistics_.window_pages, 7u);
  EXPECT_EQ(statistics_.available_window_pages, 7u);
  EXPECT_GT(statistics_.evicted_window_pages, 0u);
}

// The first text goes far beyond the prefix and gives back window pages that others need. The
// second text computes them again, and from then on they are kept.
TEST_F(SchedulerWindowsTest, ASharedPrefixIsComputedTwiceAtMost) {
  constexpr uint32_t kPrefix = 1000, kPrompts = 20;
  start(roomy(4096, 3 + 4 + 6));
  const std::vector<int32_t> shared = random_tokens(random_, kPrefix, kVocabulary);
  uint64_t rests = 0;
  for (uint32_t i = 0; i < kPrompts; ++i) {
    std::vector<int32_t> prompt = shared;
    const std::vector<int32_t> rest =
        random_tokens(random_, i == 0 ? 2000 : 1 + random_() % 150, kVocabulary);
    prompt.insert(prompt.end(), rest.begin(), rest.end());
    rests += rest.size() + kPrefix % 64;
    const Request request = text_of(std::move(prompt), 1);
    const std::vector<Result> results = run_one(request);
    if (i % 7 == 1) expect_alone(request, results);
  }
  EXPECT_LE(computed(), 2 * kPrefix + rests);
  EXPECT_GT(statistics_.recomputed_tokens, 0u);
}

TEST_F(SchedulerWindowsTest, ATextPreemptedInItsPromptIsTheSame) {
  EngineOptions options = roomy(1024, 2 * 3 + 4);
  options.prefill_rows = 64;
  SchedulerOptions scheduler;
  scheduler.max_running = 2;
  start(options, scheduler);
  const Request request = text(600, 20);
  expect_alone(request, preempted_in_its_prompt(request));
  EXPECT_EQ(statistics_.available_window_pages, statistics_.window_pages);
}

// There are window pages for two texts and a step. So the third text waits although there are KV
// pages for it, and no text loses its place.
TEST_F(SchedulerWindowsTest, TextsWaitForWindowPages) {
  start(roomy(1024, 2 * 3 + 4));
  std::vector<Request> requests;
  std::vector<Asked> asked;
  for (uint32_t i = 0; i < 3; ++i) {
    requests.push_back(text(400, 20));
    asked.push_back(ask(requests.back()));
  }
  scheduler_->step();
  EXPECT_EQ(statistics_.running, 2u);
  EXPECT_EQ(statistics_.waiting, 1u);
  run();
  EXPECT_EQ(statistics_.preemptions, 0u);
  for (uint32_t i = 0; i < 3; ++i) expect_alone(requests[i], read(asked[i]));
}

}  // namespace
}  // namespace hearth
