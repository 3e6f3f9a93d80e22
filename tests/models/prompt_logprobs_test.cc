// Tests of log-probabilities of a prompt's tokens. They follow to the bit from the prompt's rows of
// logits, however the prompt is computed, and each is delivered once.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "scheduler_fixture.h"

namespace hearth {
namespace {

class PromptLogprobs : public SchedulerTest {
 protected:
  static EngineOptions scoring(EngineOptions options) {
    options.scored_rows = 7;
    return options;
  }
  Request scored(uint32_t prompt, uint32_t max_tokens, uint32_t top = 3) {
    Request request = text(prompt, max_tokens);
    request.top_logprobs = top;
    request.prompt_logprobs = true;
    return request;
  }
  Request prompt_alone(uint32_t prompt) {
    Request request = scored(prompt, 0);
    request.deliver = Deliver::kPrompt;
    return request;
  }
  // Returns the scores in results. They must follow each other from position 1 on.
  static std::vector<TokenScore> scores_of(const std::vector<Result>& results) {
    std::vector<TokenScore> scores;
    for (const Result& result : results) {
      if (result.prompt_logprobs.empty()) continue;
      EXPECT_EQ(result.index, scores.size() + 1);
      EXPECT_EQ(result.choice, 0u);
      EXPECT_FALSE(result.has_token());
      scores.insert(scores.end(), result.prompt_logprobs.begin(), result.prompt_logprobs.end());
    }
    return scores;
  }
  static void expect_scores(const std::vector<TokenScore>& scores,
                            const std::vector<TokenScore>& expected) {
    ASSERT_EQ(scores.size(), expected.size());
    for (size_t i = 0; i < scores.size(); ++i) {
      EXPECT_EQ(scores[i].logprob, expected[i].logprob) << i;
      EXPECT_EQ(scores[i].top, expected[i].top) << i;
    }
  }
};

TEST_F(PromptLogprobs, AreThoseOfTheRowsInWholeStepsAndInChunks) {
  for (uint32_t shards : {1u, 2u}) {
    for (uint32_t step_tokens : {0u, 10u}) {
      EngineOptions options = scoring(large());
      options.threads = options.shards = shards;
      SchedulerOptions scheduler;
      scheduler.step_tokens = step_tokens;
      scheduler.step_seconds = 0;
      start(options, scheduler);
      const Request request = scored(150, 5), talk = text(20, 40);
      const Alone alone = get_alone(*engine_, request), other = get_alone(*engine_, talk);
      const uint64_t scored_before = statistics_.scored_tokens;
      Asked beside = ask(talk);
      scheduler_->step();
      Asked asked = ask(request);
      run();
      const std::vector<Result> results = read(asked), others = read(beside);
      expect_scores(scores_of(results), alone.scores);
      EXPECT_EQ(statistics_.scored_tokens - scored_before, 149u);
      size_t i = 0;
      for (const Result& result : results) {
        if (!result.has_token()) continue;
        EXPECT_EQ(result.token, alone.choices[0].tokens[i].token);
        EXPECT_EQ(result.logprob, alone.choices[0].tokens[i++].logprob);
      }
      EXPECT_EQ(i, 5u);
      ASSERT_EQ(others.size(), 40u);
      for (i = 0; i < 40; ++i) EXPECT_EQ(others[i].token, other.choices[0].tokens[i].token);
    }
  }
}

// A client can compute the same log-probabilities by other requests: for every beginning of the
// prompt, one that allows only the prompt's next token.
TEST_F(PromptLogprobs, AreThoseOfAForcedContinuation) {
  start(scoring(large()));
  const Request request = prompt_alone(70);
  Asked asked = ask(request);
  run();
  const std::vector<TokenScore> scores = scores_of(read(asked));
  ASSERT_EQ(scores.size(), 69u);
  for (size_t i = 1; i < request.prompt.size(); ++i) {
    Request next = text(1, 1);
    next.prompt.assign(request.prompt.begin(), request.prompt.begin() + static_cast<long>(i));
    next.sampling.allowed = {request.prompt[i]};
    next.top_logprobs = 3;
    Asked forced = ask(next);
    run();
    const std::vector<Result> results = read(forced);
    ASSERT_EQ(results.size(), 1u);
    EXPECT_EQ(results[0].token, request.prompt[i]);
    EXPECT_EQ(results[0].logprob, scores[i - 1].logprob) << i;
    EXPECT_EQ(results[0].top_logprobs, scores[i - 1].top) << i;
  }
}

TEST_F(PromptLogprobs, TakeNothingFromTheCacheAndLeaveTheirPagesThere) {
  start(scoring(large()));
  const Request request = scored(200, 3);
  Request plain = request;
  plain.prompt_logprobs = false;
  const Alone alone = get_alone(*engine_, request);
  for (bool first : {true, false}) {
    Asked before = ask(first ? request : plain);
    run();
    EXPECT_EQ(read(before).back().cached_tokens, first ? 0u : 192u);
    Asked asked = ask(request);
    run();
    const std::vector<Result> results = read(asked);
    expect_scores(scores_of(results), alone.scores);
    EXPECT_EQ(results.back().cached_tokens, 0u);
  }
}

TEST_F(PromptLogprobs, ComeOnceThoughTheirSequenceLosesItsPages) {
  for (bool prefix_cache : {false, true}) {
    for (bool generates : {false, true}) {
      SchedulerOptions options;
      options.prefix_cache = prefix_cache;
      options.min_chunk = 16;
      options.step_seconds = 1e-9;
      EngineOptions four_pages = scoring(small());
      four_pages.kv_pages = 4;
      start(four_pages, options);
      const Request request = generates ? scored(100, 60) : prompt_alone(150);
      const Alone alone = get_alone(*engine_, request);
      const uint64_t preemptions = statistics_.preemptions;
      Asked older = ask(text(60, 100)), younger = ask(request);
      run();
      EXPECT_GE(statistics_.preemptions - preemptions, 1u);
      const std::vector<Result> results = read(younger);
      expect_scores(scores_of(results), alone.scores);
      EXPECT_EQ(results.back().finish, Finish::kLength);
      EXPECT_EQ(results.back().cached_tokens, 0u) << "it computed them itself";
      EXPECT_EQ(tokens_of(results).size(), generates ? 60u : 0u);
      EXPECT_EQ(read(older).size(), 100u);
    }
  }
}

TEST_F(PromptLogprobs, ComeOnceForAllChoices) {
  SchedulerOptions options;
  options.max_running = 2;  // the others wait, and lose their pages
  options.prefix_cache = false;
  start(scoring(large()), options);
  Request request = scored(70, 10);
  request.choices = 4;
  const Alone alone = get_alone(*engine_, request);
  Asked asked = ask(request);
  run();
  const std::vector<Result> results = read(asked);
  expect_scores(scores_of(results), alone.scores);
  for (uint32_t choice = 0; choice < 4; ++choice) {
    std::vector<int32_t> expected;
    for (const TokenAlone& token : alone.choices[choice].tokens) expected.push_back(token.token);
    EXPECT_EQ(tokens_of(results, choice), expected);
  }
}

TEST_F(PromptLogprobs, APromptWithoutGenerationEndsWithItsLogprobs) {
  start(scoring(large()));
  for (uint32_t length : {2u, 64u, 150u}) {
    const Request request = prompt_alone(length);
    const Alone alone = get_alone(*engine_, request);
    const uint64_t computed = statistics_.computed_tokens;
    Asked asked = ask(request);
    run();
    const std::vector<Result> results = read(asked);
    expect_scores(scores_of(results), alone.scores);
    EXPECT_EQ(results.back().finish, Finish::kLength);
    EXPECT_EQ(std::ranges::count_if(results, [](auto& r) { return r.finish.has_value(); }), 1);
    EXPECT_EQ(statistics_.computed_tokens - computed, length);
  }
  Asked one = ask(prompt_alone(1));
  run();
  const std::vector<Result> results = read(one);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_TRUE(results[0].prompt_logprobs.empty());
  EXPECT_EQ(results[0].finish, Finish::kLength);
  EXPECT_EQ(statistics_.generated_tokens, 0u);
  EXPECT_EQ(engine_->pool().available(), engine_->pool().page_count());
}

TEST_F(PromptLogprobs, APromptAloneOfWhichNothingIsAskedOnlyFillsTheCache) {
  start(scoring(large()));
  Request request = prompt_alone(150);
  request.prompt_logprobs = false;
  for (uint32_t cached : {0u, 128u}) {
    Asked asked = ask(request);
    run();
    const std::vector<Result> results = read(asked);
    ASSERT_EQ(results.size(), 1u);
    EXPECT_EQ(results[0].finish, Finish::kLength);
    EXPECT_EQ(results[0].cached_tokens, cached);
  }
}

TEST_F(PromptLogprobs, CancellingWithinThePromptEndsTheRequest) {
  SchedulerOptions options;
  options.step_tokens = 10;
  start(scoring(large()), options);
  Asked asked = ask(prompt_alone(150));
  for (int i = 0; i < 3; ++i) scheduler_->step();
  asked.job->cancel();
  EXPECT_FALSE(scheduler_->step());
  const std::vector<Result> results = read(asked);
  EXPECT_GT(scores_of(results).size(), 0u);
  EXPECT_EQ(results.back().finish, Finish::kCancelled);
  EXPECT_TRUE(asked.stream->reserve(1024)) << "its room was given back";
  EXPECT_EQ(engine_->pool().available(), engine_->pool().page_count());
}

TEST_F(PromptLogprobs, AClientThatDoesNotReadHoldsUpItself) {
  SchedulerOptions options;
  options.step_tokens = 10;
  start(scoring(large()), options);
  const Request request = prompt_alone(150);
  const Alone alone = get_alone(*engine_, request);
  Asked slow = ask(request, 2), quick = ask(text(10, 30));
  run();
  EXPECT_EQ(read(quick).size(), 30u);
  EXPECT_TRUE(turn(slow)->held_up);
  std::vector<Result> results;
  for (int round = 0; round < 40; ++round) {
    std::ranges::move(read(slow), std::back_inserter(results));
    run();
  }
  expect_scores(scores_of(results), alone.scores);
}

TEST_F(PromptLogprobs, RefusesInvalidRequests) {
  start(scoring(large()));
  auto refused = [&](const auto& change) {
    Request request = scored(100, 1);
    change(request);
    ResultStream stream(8);
    try {
      check_request(request, *engine_, nullptr, stream);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refused([](Request&) {}), "");
  EXPECT_EQ(refused([](Request& r) { r.choices = 8; }),
            "choices is 8, and the result stream holds only 8 results: make it hold at least 9, "
            "better 64");
  EXPECT_EQ(refused([](Request& r) {
              r.deliver = Deliver::kPrompt;
              r.choices = 2;
            }),
            "choices is 2; it must be 1 where only the prompt is computed");
  EXPECT_EQ(refused([](Request& r) { r.deliver = Deliver::kLogits; }),
            "prompt_logprobs cannot be combined with rows of the prompt: ask for one of them");
  EXPECT_EQ(refused([](Request& r) { r.top_logprobs = 20000; }),
            "prompt_logprobs asks for 2000100 log-probabilities (20001 for each of the prompt's "
            "100 tokens), and the limit is 1048576: shorten the prompt or ask for fewer");
  start(large());
  EXPECT_EQ(refused([](Request&) {}),
            "prompt_logprobs asks for log-probabilities of the prompt, and the engine was loaded "
            "without memory for them: load it with scored_rows");
}

}  // namespace
}  // namespace hearth
