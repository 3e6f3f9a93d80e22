// Tests of the scheduler's policies, one at a time: admission, preemption, notification, and the
// ends of requests.
#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "base/error.h"
#include "scheduler_fixture.h"

namespace hearth {
namespace {

TEST_F(SchedulerTest, StepsHoldNoMoreThanTheirTokens) {
  SchedulerOptions options;
  options.step_tokens = 10;
  options.min_chunk = 4;
  options.step_seconds = 0;
  start(large(), options);
  std::vector<Asked> all;
  for (int i = 0; i < 9; ++i) all.push_back(ask(text(1, 50)));
  while (statistics_.running < 9 || turn(all.back())->tokens == 0) scheduler_->step();
  Asked prompt = ask(text(40, 1));
  for (int i = 0; i < 10; ++i) {
    scheduler_->step();
    EXPECT_EQ(step_tokens(), 10u);
    EXPECT_EQ(tokens_in_step(prompt), 4u) << "those who decode leave room for it";
  }
  EXPECT_EQ(read(prompt).size(), 1u);
}

TEST_F(SchedulerTest, StepsOfOneTokenAreRefused) {
  SchedulerOptions options;
  options.step_tokens = 1;
  try {
    start(large(), options);
    FAIL() << "it would starve prompts";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    EXPECT_EQ(error.field(), "step_tokens");
  }
}

TEST_F(SchedulerTest, TwoTokensAreAPromptsAndADecodingSequences) {
  SchedulerOptions options;
  options.step_tokens = 2;
  start(large(), options);
  Asked talk = ask(text(1, 60));
  scheduler_->step();
  Asked prompt = ask(text(20, 1));
  for (int i = 0; i < 20; ++i) {
    scheduler_->step();
    EXPECT_EQ(tokens_in_step(talk), 1u);
    EXPECT_EQ(tokens_in_step(prompt), 1u);
  }
  EXPECT_EQ(read(prompt).size(), 1u);
}

TEST_F(SchedulerTest, AnEngineOfOneRowRunsOneSequence) {
  EngineOptions one_row = large();
  one_row.prefill_rows = 1;
  start(one_row);
  Asked first = ask(text(10, 5)), second = ask(text(10, 5));
  for (int i = 0; i < 12; ++i) {
    scheduler_->step();
    EXPECT_EQ(statistics_.running, 1u);
  }
  run();
  EXPECT_EQ(read(first).size(), 5u);
  EXPECT_EQ(read(second).size(), 5u);
}

TEST_F(SchedulerTest, AShortPromptDoesNotOvertakeALongOne) {
  start(small());
  Asked first = ask(text(100, 20)), longer = ask(text(130, 5)), shorter = ask(text(3, 5));
  for (int i = 0; i < 10; ++i) {
    scheduler_->step();
    EXPECT_EQ(statistics_.running, 1u);
    EXPECT_FALSE(turn(shorter));
  }
  while (!turn(longer)) scheduler_->step();
  EXPECT_EQ(read(first).back().finish, Finish::kLength);
  EXPECT_FALSE(turn(shorter)) << "three pages are one long prompt's";
  run();
  EXPECT_EQ(read(longer).size(), 5u);
  EXPECT_EQ(read(shorter).size(), 5u);
  EXPECT_EQ(statistics_.preemptions, 0u);
}

TEST_F(SchedulerTest, NoMoreRunThanMayRun) {
  SchedulerOptions options;
  options.max_running = 2;
  start(large(), options);
  std::vector<Asked> all;
  for (int i = 0; i < 5; ++i) all.push_back(ask(text(10, 5)));
  EXPECT_EQ(statistics_.waiting, 5u);
  scheduler_->step();
  EXPECT_EQ(statistics_.running, 2u);
  EXPECT_EQ(statistics_.waiting, 3u);
  run();
  for (const Asked& asked : all) EXPECT_EQ(read(asked).size(), 5u);
}

TEST_F(SchedulerTest, TheYoungestGivesItsPagesAway) {
  start(small());
  std::vector<Request> requests = {text(60, 60), text(50, 60), text(40, 30)};
  std::vector<Asked> all;
  for (const Request& request : requests) all.push_back(ask(request));
  scheduler_->step();
  EXPECT_EQ(statistics_.running, 3u);
  std::vector<bool> lost(3);
  while (scheduler_->step()) {
    for (size_t i = 0; i < all.size(); ++i) {
      if (turn(all[i]) || tokens_of(read(all[i])).size() == requests[i].max_tokens) continue;
      lost[i] = true;
      for (size_t younger = i + 1; younger < all.size(); ++younger) {
        EXPECT_FALSE(turn(all[younger])) << younger << " runs and " << i << " does not";
      }
    }
    if (statistics_.finished_choices > 0) break;
  }
  EXPECT_EQ(lost, (std::vector<bool>{false, true, true}));
  EXPECT_GE(statistics_.preemptions, 2u);
  run();
  EXPECT_EQ(statistics_.finished_choices, 3u);
}

TEST_F(SchedulerTest, ChoicesShareThePromptAndDifferBySeed) {
  start(large());
  Request request = text(100, 20);
  request.choices = 4;
  Asked asked = ask(request);
  run();
  std::vector<Result> results = read(asked);
  EXPECT_EQ(statistics_.computed_tokens, 100u + 4 * 19);
  EXPECT_EQ(statistics_.cached_tokens, 0u);
  EXPECT_EQ(statistics_.generated_tokens, 80u);
  EXPECT_EQ(statistics_.finished_choices, 4u);
  Alone alone = get_alone(*engine_, request);
  for (uint32_t choice = 0; choice < 4; ++choice) {
    std::vector<int32_t> expected;
    for (const TokenAlone& token : alone.choices[choice].tokens) expected.push_back(token.token);
    EXPECT_EQ(tokens_of(results, choice), expected);
    for (uint32_t other = 0; other < choice; ++other) {
      EXPECT_NE(tokens_of(results, other), expected);
    }
  }
}

TEST_F(SchedulerTest, NotifiesAStreamOnceAStep) {
  start(large());
  auto stream = std::make_shared<ResultStream>(1024), other = std::make_shared<ResultStream>(1024);
  int notified = 0, notified_other = 0;
  stream->set_on_results([&] { ++notified; });
  other->set_on_results([&] { ++notified_other; });
  Request request = text(150, 4);
  request.choices = 3;
  Asked asked = ask(request, stream);
  ask(text(10, 2), stream);
  Asked rows = ask(request_of_rows(100), other);
  std::vector<int> results, calls;
  for (bool any = true; any;) {
    int before = notified, before_other = notified_other;
    any = scheduler_->step();
    results.push_back(static_cast<int>(read(asked).size()));
    EXPECT_EQ(notified - before, results.back() > 0 ? 1 : 0) << results.back() << " results";
    EXPECT_EQ(notified_other - before_other, read(rows).empty() ? 0 : 1);
  }
  EXPECT_GE(std::ranges::max(results), 3);
  EXPECT_EQ(std::accumulate(results.begin(), results.end(), 0), 3 * 4 + 2);
  EXPECT_GT(notified_other, 1);
}

TEST_F(SchedulerTest, ReportsHowMuchOfAPromptWasRead) {
  start(large());
  ResultStream* notified_stream = nullptr;
  std::vector<uint64_t> notified;
  Request request = text(300, 2);
  request.choices = 2;
  for (const bool asks : {true, false, true}) {
    auto stream = std::make_shared<ResultStream>(64);
    notified_stream = stream.get();
    notified.clear();
    stream->set_on_results([&] { notified.push_back(notified_stream->read().tokens); });
    request.report_read = asks;
    const bool cached = statistics_.finished_choices > 0;
    ask(request, stream);
    run();
    const PromptRead read = stream->read();
    if (!asks) {
      EXPECT_EQ(read, PromptRead{});
      continue;
    }
    EXPECT_EQ(read.tokens, 300u);
    EXPECT_EQ(read.cached >= 256, cached) << "four whole pages";
    EXPECT_GT(read.seconds, 0);
    EXPECT_TRUE(std::ranges::is_sorted(notified));
    EXPECT_TRUE(cached || notified.front() < 300) << "it takes several steps";
  }
}

TEST_F(SchedulerTest, NotifiesAStreamOfItsEndWithoutAStep) {
  start(small());
  auto stream = std::make_shared<ResultStream>(1024);
  std::vector<size_t> notified;
  stream->set_on_results([&] {
    notified.push_back(0);
    while (stream->try_pop()) ++notified.back();
    EXPECT_EQ(statistics_.finished_choices, 3u) << "it is counted already";
    EXPECT_EQ(statistics_.waiting, 0u);
  });
  Request request = text(20, 0);
  request.choices = 3;
  Asked asked = ask(request, stream);
  asked.job->cancel();
  EXPECT_FALSE(scheduler_->step());
  EXPECT_EQ(notified, std::vector<size_t>{3});
  ask(text(20, 0), stream);
  ask(text(20, 0), stream);
  stream->set_on_results([&] { notified.push_back(statistics_.finished_choices); });
  scheduler_->end_all(Finish::kFailed, "the reason");
  EXPECT_EQ(notified, (std::vector<size_t>{3, 5}));
}

TEST_F(SchedulerTest, MoreChoicesThanMayRunTakeTurns) {
  SchedulerOptions options;
  options.max_running = 2;
  start(large(), options);
  Request request = text(70, 10);
  request.choices = 5;
  Asked asked = ask(request);
  run();
  std::vector<Result> results = read(asked);
  EXPECT_EQ(results.size(), 50u);
  EXPECT_EQ(std::ranges::count(results, Finish::kLength, &Result::finish), 5);
}

TEST_F(SchedulerTest, RowsComeFromTheirPositionOn) {
  start(large());
  for (Deliver deliver : {Deliver::kLogits, Deliver::kHidden}) {
    Request request = text(150, 0);
    request.deliver = deliver;
    request.rows_from = 100;
    Alone alone = get_alone(*engine_, request);
    uint64_t computed = statistics_.computed_tokens;
    for (uint32_t cached : {0u, 64u}) {
      Asked asked = ask(request, 7);
      std::vector<Result> results;
      while (scheduler_->step()) std::ranges::move(read(asked), std::back_inserter(results));
      ASSERT_EQ(results.size(), 50u);
      for (uint32_t i = 0; i < 50; ++i) {
        EXPECT_EQ(results[i].index, 100 + i);
        EXPECT_EQ(results[i].row, alone.rows[i]);
        EXPECT_EQ(results[i].finish.has_value(), i == 49);
        EXPECT_EQ(results[i].cached_tokens, cached) << "never beyond the first row wanted";
      }
      EXPECT_EQ(results.back().finish, Finish::kComplete);
    }
    EXPECT_EQ(statistics_.computed_tokens - computed, 150u + 86);
  }
}

TEST_F(SchedulerTest, RowsComeOnceThoughTheirSequenceLosesItsPages) {
  for (bool prefix_cache : {false, true}) {
    SchedulerOptions options;
    options.prefix_cache = prefix_cache;
    EngineOptions four_pages = small();
    four_pages.kv_pages = 4;
    start(four_pages, options);
    Request rows = text(150, 0);
    rows.deliver = Deliver::kLogits;
    rows.rows_from = 10;
    Alone alone = get_alone(*engine_, rows);
    uint64_t preemptions = statistics_.preemptions, cached = statistics_.cached_tokens;
    Asked older = ask(text(60, 100)), younger = ask(rows, 8);
    std::vector<Result> results;
    while (scheduler_->step()) std::ranges::move(read(younger), std::back_inserter(results));
    EXPECT_EQ(statistics_.preemptions - preemptions, 1u);
    ASSERT_EQ(results.size(), 140u);
    for (uint32_t i = 0; i < 140; ++i) {
      EXPECT_EQ(results[i].index, 10 + i);
      EXPECT_EQ(results[i].row, alone.rows[i]);
      EXPECT_EQ(results[i].cached_tokens, 0u) << "it computed them itself";
    }
    EXPECT_EQ(read(older).size(), 100u);
    EXPECT_EQ(statistics_.cache_hits, 0u);
    EXPECT_EQ(statistics_.cached_tokens - cached, prefix_cache ? 64u : 0u) << "its own page";
  }
}

TEST_F(SchedulerTest, AClientThatDoesNotReadHoldsUpItself) {
  start(large());
  Asked slow = ask(text(10, 30), 4), quick = ask(text(10, 30));
  run();
  EXPECT_EQ(read(quick).size(), 30u);
  EXPECT_EQ(statistics_.running, 1u);
  EXPECT_TRUE(turn(slow)->held_up);
  size_t got = 0;
  for (int round = 0; round < 20; ++round) {
    got += read(slow).size();
    run();
  }
  EXPECT_EQ(got, 30u);
}

TEST_F(SchedulerTest, AClientThatDoesNotReadHoldsUpNoOther) {
  SchedulerOptions places;
  places.max_running = 2;
  for (auto [options, scheduler] :
       {std::pair(large(), places), std::pair(small(), SchedulerOptions{})}) {
    start(options, scheduler);
    // Two clients stop reading. Their requests hold all of two places, or two of three pages.
    std::vector<Request> requests = {text(40, 50), text(40, 50), text(100, 30)};
    std::vector<Asked> slow = {ask(requests[0], 8), ask(requests[1], 8)};
    run();
    Asked other = ask(requests[2]);
    run();
    EXPECT_EQ(read(other).size(), 30u);
    std::vector<std::vector<int32_t>> tokens(2);
    for (int round = 0; round < 100; ++round) {
      for (size_t i = 0; i < 2; ++i) {
        std::optional<Result> result = slow[i].stream->try_pop();
        if (result) tokens[i].push_back(result->token);
      }
      run();
    }
    for (size_t i = 0; i < 2; ++i) {
      std::vector<int32_t> expected;
      Alone alone = get_alone(*engine_, requests[i]);
      for (const TokenAlone& token : alone.choices[0].tokens) expected.push_back(token.token);
      EXPECT_EQ(tokens[i], expected);
    }
  }
}

TEST_F(SchedulerTest, CancelledRequestsAreGoneAtTheNextStep) {
  start(small());
  Request request = text(20, 0);
  request.choices = 2;
  Asked runs = ask(request), closes = ask(text(20, 0)), waits = ask(text(190, 0));
  Asked last = ask(text(20, 2));
  for (int i = 0; i < 3; ++i) scheduler_->step();
  EXPECT_EQ(statistics_.running, 3u);
  runs.job->cancel();
  waits.job->cancel();
  closes.stream->close();
  scheduler_->step();
  EXPECT_EQ(scheduler_->last_turns().size(), 1u);
  std::vector<Result> results = read(runs);
  EXPECT_EQ(std::ranges::count(results, Finish::kCancelled, &Result::finish), 2);
  results = read(waits);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].finish, Finish::kCancelled);
  EXPECT_TRUE(read(closes).empty());
  EXPECT_EQ(statistics_.cancelled_choices, 4u);
  run();
  EXPECT_EQ(read(last).size(), 2u);
  EXPECT_EQ(engine_->pool().available(), 3u);
}

TEST_F(SchedulerTest, AbandonsAStepWithoutWaitingClients) {
  SchedulerOptions options;
  options.step_seconds = 0;
  std::vector<Asked> all;
  bool leave = false;
  options.clock = [&] {
    for (const Asked& asked : all) {
      if (leave) asked.job->cancel();
    }
    return 0.0;
  };
  start(large(), options);
  for (int i = 0; i < 3; ++i) all.push_back(ask(text(30, 10)));
  scheduler_->step();
  uint64_t computed = statistics_.computed_tokens;
  leave = true;
  EXPECT_TRUE(scheduler_->step());
  EXPECT_EQ(statistics_.abandoned_steps, 1u);
  EXPECT_EQ(statistics_.computed_tokens, computed);
  EXPECT_FALSE(scheduler_->step());
  for (const Asked& asked : all) {
    std::vector<Result> results = read(asked);
    ASSERT_EQ(results.size(), 2u);
    EXPECT_EQ(results.back().finish, Finish::kCancelled);
    EXPECT_TRUE(asked.stream->reserve(1024)) << "its room was given back";
  }
  EXPECT_EQ(engine_->pool().available(), engine_->pool().page_count());
}

TEST_F(SchedulerTest, AStepThatFailsGivesBackTheRoomItSetAside) {
  SchedulerOptions options;
  bool fails = false;
  options.clock = [&] {
    if (fails) throw std::runtime_error("no memory");
    return 0.0;
  };
  start(large(), options);
  Asked first = ask(text(10, 5), 2);
  scheduler_->step();
  fails = true;
  EXPECT_THROW(scheduler_->step(), std::runtime_error);
  scheduler_->end_all(Finish::kFailed, "no memory");
  EXPECT_EQ(read(first).back().error, "no memory");
  EXPECT_EQ(engine_->pool().available(), engine_->pool().page_count());
  fails = false;
  Request two = text(10, 1);
  two.choices = 2;
  Asked second = ask(two, first.stream);
  run();
  EXPECT_EQ(read(second).size(), 2u);
}

TEST_F(SchedulerTest, EndingAllEndsRunningAndWaitingRequests) {
  start(small());
  Request request = text(100, 0);
  request.choices = 3;
  Asked runs = ask(text(150, 0)), waits = ask(request);
  scheduler_->step();
  scheduler_->end_all(Finish::kFailed, "the reason");
  for (const Asked& asked : {runs, waits}) {
    for (const Result& result : read(asked)) {
      EXPECT_EQ(result.finish, Finish::kFailed);
      EXPECT_EQ(result.error, "the reason");
    }
  }
  EXPECT_EQ(statistics_.failed_choices, 4u);
  EXPECT_EQ(statistics_.finished_choices, 4u);
  EXPECT_FALSE(scheduler_->step());
}

// A model with latents. The prompt's positions up to a multiple of 64 are expanded, but not the
// last 64.
class LatentScheduler : public SchedulerTest {
 protected:
  LatentScheduler() { file_ = parse_gguf(tiny_deepseek2(kTiniest), "tiny"); }

  static EngineOptions expanding() {
    EngineOptions options = large();
    options.expand = {.tail = 64, .step = 64};
    return options;
  }
  std::vector<Result> answer(const Request& request) {
    const Asked asked = ask(request);
    run();
    return read(asked);
  }
  static std::vector<double> logprobs(const std::vector<Result>& results) {
    std::vector<double> all;
    for (const Result& result : results) all.push_back(result.logprob);
    return all;
  }
};

// The prompt of a second turn contains the first one's reply. Its result is the same whether it
// finds cached pages or computes everything. If the request gives first_turn, it finds all.
TEST_F(LatentScheduler, AConversationFindsThePagesOfItsTurnsAndGetsTheSameBits) {
  Request first = text(200, 80), second = text(60, 10);
  start(expanding());
  const std::vector<Result> reply = answer(first);
  ASSERT_EQ(reply.size(), 80u);
  std::vector<int32_t> prompt = first.prompt;
  for (const Result& result : reply) prompt.push_back(result.token);
  prompt.insert(prompt.end(), second.prompt.begin(), second.prompt.end());
  second.prompt = prompt;
  for (uint32_t first_turn : {200u, 0u}) {
    second.first_turn = first_turn;
    start(expanding());
    const std::vector<Result> alone = answer(second);
    ASSERT_EQ(alone.size(), 10u);
    start(expanding());
    answer(first);
    const std::vector<Result> after = answer(second);
    // The first answer leaves 4 whole pages, 128 positions of them expanded. With first_turn the
    // second prompt also expands 128 and finds all 4. Without, it expands 256 and finds only 128.
    EXPECT_EQ(after.front().cached_tokens, first_turn > 0 ? 256u : 128u);
    EXPECT_EQ(alone.front().cached_tokens, 0u);
    EXPECT_EQ(tokens_of(after), tokens_of(alone));
    EXPECT_EQ(logprobs(after), logprobs(alone));
  }
}

// A chunk of expanded rows has min_expanded_chunk rows or more, however short steps should be.
TEST_F(LatentScheduler, ChunksOfExpandedRowsAreLonger) {
  SchedulerOptions options;
  options.min_chunk = 8;
  options.min_expanded_chunk = 48;
  options.step_seconds = 1e-9;
  start(expanding(), options);
  const Asked asked = ask(text(200, 2));
  std::vector<uint32_t> chunks;
  while (scheduler_->step()) chunks.push_back(tokens_in_step(asked));
  // The first 128 rows are expanded.
  ASSERT_GE(chunks.size(), 4u);
  EXPECT_EQ(chunks[0], 48u);
  EXPECT_EQ(chunks[1], 48u);
  EXPECT_EQ(chunks[2], 32u);
  EXPECT_EQ(chunks[3], 8u);
}

}  // namespace
}  // namespace hearth
