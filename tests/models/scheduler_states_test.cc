// Tests of kept states: how much of a text is computed again, and from where.
#include "scheduler_fixture.h"

namespace hearth {
namespace {

class SchedulerStatesTest : public SchedulerTest {
 protected:
  SchedulerStatesTest() { file_ = parse_gguf(tiny_qwen35(kTiniest), "tiny"); }

  static EngineOptions roomy(uint32_t context, uint32_t kept_states) {
    EngineOptions options = SchedulerTest::roomy(context);
    options.kept_states = kept_states;
    return options;
  }
  // Expects the recomputed tokens of a text that lost its place: all of them without kept states,
  // else less than a page.
  static void expect_recomputed(uint32_t kept_states, uint64_t tokens, uint64_t whole) {
    if (kept_states == 0) {
      EXPECT_GE(tokens, whole);
    } else {
      EXPECT_LE(tokens, 63u);
    }
  }
  void expect_no_slot_lost() {
    const StatePool& states = *engine_->states();
    EXPECT_EQ(states.free_places(), states.places());
    EXPECT_EQ(states.free_count() + states.kept_count(), states.slots());
  }
};

// Returns the tokens of the request on a fresh engine.
std::vector<TokenAlone> tokens_alone(const ModelSource& file, EngineOptions options,
                                     const Request& request) {
  options.kept_states = 0;
  return get_alone(*tiny_engine(file, options), request).choices[0].tokens;
}

TEST_F(SchedulerStatesTest, ATurnComputesItsOwnTokensAndAPageAtMost) {
  constexpr uint32_t kLength = 16384;
  const EngineOptions options = roomy(kLength, 8);
  start(options);
  run_turns(kLength, 20,
            [&](const Request& request, size_t own, const std::vector<Result>& results) {
              EXPECT_GE(results[0].cached_tokens, request.prompt.size() - own - 64);
              expect_tokens(results, tokens_alone(file_, options, request));
              EXPECT_GT(request.prompt.size() + kReply, kLength - 300u);
            });
  EXPECT_EQ(statistics_.max_kept_states, 8u);
  EXPECT_LE(statistics_.kept_states, 8u);
  EXPECT_GT(statistics_.kept_states, 0u);
  EXPECT_EQ(statistics_.kept_state_bytes, statistics_.kept_states * engine_->state_bytes());
  expect_no_slot_lost();
}

// The prompts come one after another, or at once.
TEST_F(SchedulerStatesTest, ASharedPrefixIsComputedTwiceAtMost) {
  constexpr uint32_t kPrompts = 100, kPrefix = 1000;
  for (bool together : {false, true}) {
    for (uint32_t prefix : {130u, kPrefix}) {
      start(roomy(2048, 16));
      computed_ = statistics_.computed_tokens;
      const std::vector<int32_t> shared = random_tokens(random_, prefix, kVocabulary);
      uint64_t rests = 0;
      std::vector<Request> requests;
      std::vector<Asked> asked;
      for (uint32_t i = 0; i < kPrompts; ++i) {
        std::vector<int32_t> prompt = shared;
        const std::vector<int32_t> rest =
            random_tokens(random_, 1 + random_() % (i % 4 == 0 ? 500 : 60), kVocabulary);
        prompt.insert(prompt.end(), rest.begin(), rest.end());
        rests += rest.size() + prefix % 64;
        requests.push_back(text_of(std::move(prompt), 1));
        asked.push_back(ask(requests.back()));
        if (!together) run();
      }
      run();
      EXPECT_LE(computed(), 2 * prefix + rests) << prefix << " together " << together;
      for (uint32_t i = 0; i < kPrompts; i += 33) {
        const std::vector<Result> results = read(asked[i]);
        ASSERT_EQ(results.size(), 1u);
        EXPECT_EQ(results[0].token, tokens_alone(file_, roomy(2048, 0), requests[i])[0].token);
      }
      expect_no_slot_lost();
    }
  }
}

// A text that loses its place continues from its last whole page, and computes again only the
// tokens after that.
TEST_F(SchedulerStatesTest, APreemptedTextGoesOnFromItsLastPage) {
  for (uint32_t kept : {0u, 2u}) {
    EngineOptions options = roomy(512, kept);
    options.prefill_rows = 64;
    SchedulerOptions scheduler;
    scheduler.max_running = 1;
    start(options, scheduler);
    const Request request = from("a", text(300, 100));
    const uint64_t preempted = statistics_.preemptions, again = statistics_.recomputed_tokens;
    const Asked first = ask(request, 8);
    while (scheduler_->step()) {
    }
    // The client does not read, so its text loses its place in the middle of its reply.
    const Asked other = ask(from("b", text(10, 3)));
    for (int step = 0; step < 20; ++step) scheduler_->step();
    ASSERT_EQ(read(other).size(), 3u);
    EXPECT_EQ(statistics_.preemptions - preempted, 1u);
    std::vector<Result> results;
    for (bool more = true; more;) {
      for (Result& result : read(first)) results.push_back(std::move(result));
      more = scheduler_->step();
    }
    for (Result& result : read(first)) results.push_back(std::move(result));
    expect_tokens(results, tokens_alone(file_, options, request));
    expect_recomputed(kept, statistics_.recomputed_tokens - again, 300);
    EXPECT_EQ(results.back().cached_tokens, 0u) << "it computed them itself";
    expect_no_slot_lost();
  }
}

TEST_F(SchedulerStatesTest, ATextPreemptedInItsPromptIsTheSame) {
  for (uint32_t kept : {0u, 2u}) {
    EngineOptions options = roomy(512, kept);
    options.prefill_rows = 64;
    SchedulerOptions scheduler;
    scheduler.max_running = 2;
    start(options, scheduler);
    const uint64_t again = statistics_.recomputed_tokens;
    const Request request = text(400, 20);
    expect_tokens(preempted_in_its_prompt(request), tokens_alone(file_, options, request));
    expect_recomputed(kept, statistics_.recomputed_tokens - again, 200);
    expect_no_slot_lost();
  }
}

TEST_F(SchedulerStatesTest, StepsEndWhereAStateIsKept) {
  SchedulerOptions scheduler;
  scheduler.step_seconds = 0;
  scheduler.state_pages = 3;
  start(roomy(2048, 16), scheduler);
  const Asked asked = ask(text(600, 1));
  std::vector<uint32_t> steps;
  while (scheduler_->step()) {
    if (tokens_in_step(asked) > 0) steps.push_back(tokens_in_step(asked));
  }
  EXPECT_EQ(steps, (std::vector<uint32_t>{192, 192, 192, 24}));
  EXPECT_EQ(statistics_.kept_states, 3u);
  expect_no_slot_lost();
}

// A kept state would cost a short prompt an extra step, and would save only a few tokens.
TEST_F(SchedulerStatesTest, AShortPromptIsOneStep) {
  SchedulerOptions scheduler;
  scheduler.step_seconds = 0;
  start(roomy(2048, 16), scheduler);
  const Request most = text(192, 1);
  for (const auto& [request, expected] :
       {std::pair{most, std::vector<uint32_t>{192}},
        std::pair{text(193, 1), std::vector<uint32_t>{192, 1}},
        std::pair{text_of({most.prompt.begin(), most.prompt.begin() + 100}, 1),
                  std::vector<uint32_t>{64, 36}}}) {
    const Asked asked = ask(request);
    std::vector<uint32_t> steps;
    while (scheduler_->step()) {
      if (tokens_in_step(asked) > 0) steps.push_back(tokens_in_step(asked));
    }
    EXPECT_EQ(steps, expected) << "the last one leaves the first one's path";
  }
}

}  // namespace
}  // namespace hearth
