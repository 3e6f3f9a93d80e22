// Tests of the scheduler's use of its clock: the size of chunks, and the times in results and
// figures.
#include "scheduler_fixture.h"

namespace hearth {
namespace {

// A clock on which every token takes `token_seconds`. It advances while a step is computed.
class SchedulerTime : public SchedulerTest {
 protected:
  SchedulerOptions options(double step_seconds) {
    SchedulerOptions options;
    options.step_seconds = step_seconds;
    options.min_chunk = 8;
    options.clock = [this] {
      if ((calls_++ & 1) != 0) now_ += token_seconds_ * step_tokens();
      return now_;
    };
    return options;
  }

  double token_seconds_ = 1e-3;

 private:
  uint32_t calls_ = 0;
  double now_ = 1;
};

TEST_F(SchedulerTime, ChunksFitTheTimeWhileDecoding) {
  start(large(), options(0.0505));
  Asked talk = ask(text(20, 12));
  scheduler_->step();
  ASSERT_EQ(tokens_in_step(talk), 8u) << "nothing was measured";
  scheduler_->step();
  ASSERT_EQ(tokens_in_step(talk), 12u);
  Asked prompt = ask(text(500, 1));
  scheduler_->step();
  EXPECT_EQ(tokens_in_step(talk), 1u);
  EXPECT_EQ(tokens_in_step(prompt), 49u) << "50 tokens' time, less the one that is decoded";
  token_seconds_ = 10e-3;
  scheduler_->step();
  EXPECT_EQ(tokens_in_step(prompt), 49u) << "known only when it has been measured";
  scheduler_->step();
  EXPECT_EQ(tokens_in_step(prompt), 8u) << "(1 + 10) / 2 ms a token";
  token_seconds_ = 1;
  for (int i = 0; i < 6; ++i) {
    scheduler_->step();
    EXPECT_EQ(tokens_in_step(prompt), 8u) << "never less than min_chunk";
  }
  token_seconds_ = 1e-3;
  while (tokens_in_step(talk) > 0) scheduler_->step();
  run();
  EXPECT_EQ(read(prompt).back().finish, Finish::kLength);
}

TEST_F(SchedulerTime, ChunksFitFourTimesTheTimeWithoutDecoding) {
  start(large(), options(0.0206));
  Asked prompt = ask(text(500, 3));
  scheduler_->step();
  EXPECT_EQ(tokens_in_step(prompt), 8u) << "nothing was measured";
  scheduler_->step();
  EXPECT_EQ(tokens_in_step(prompt), 82u);
  Asked other = ask(text(9, 1));
  scheduler_->step();
  EXPECT_EQ(step_tokens(), 82u);
  scheduler_->step();
  EXPECT_EQ(tokens_in_step(prompt), 73u);
  EXPECT_EQ(tokens_in_step(other), 9u) << "both within the time";
  token_seconds_ = 0.1e-3;
  while (tokens_in_step(prompt) < 128 && statistics_.finished_choices < 2) scheduler_->step();
  EXPECT_EQ(tokens_in_step(prompt), 128u) << "as much as a step takes";
  run();
}

// Steps with the decode plan say nothing about a prompt's speed.
TEST_F(SchedulerTime, TheFirstChunkIsLargeEnoughToMeasure) {
  EngineOptions engine = large();
  engine.decode_rows = 16;
  start(engine, options(1000));
  Asked prompt = ask(text(300, 1));
  scheduler_->step();
  EXPECT_EQ(tokens_in_step(prompt), 17u);
  scheduler_->step();
  EXPECT_EQ(tokens_in_step(prompt), 128u);
}

TEST_F(SchedulerTime, AnUnknownCostIsTakenForHigh) {
  start(large(), options(1000));
  Asked talk = ask(text(3, 5));  // few tokens, which the decode plan takes: it tells nothing
  scheduler_->step();
  Asked prompt = ask(text(500, 1));
  scheduler_->step();
  EXPECT_EQ(tokens_in_step(prompt), 8u);
  scheduler_->step();
  EXPECT_EQ(tokens_in_step(prompt), 127u);
}

TEST_F(SchedulerTime, WithoutALimitChunksAreAsLargeAsAStep) {
  start(large(), options(0));
  Asked talk = ask(text(3, 5));
  scheduler_->step();
  Asked prompt = ask(text(500, 1));
  token_seconds_ = 1000;
  for (int i = 0; i < 3; ++i) {
    scheduler_->step();
    EXPECT_EQ(tokens_in_step(talk), 1u);
    EXPECT_EQ(tokens_in_step(prompt), 127u);
  }
}

// A streamer that accepts no prompt.
class AskedStreamer : public PromptStreamer {
 public:
  bool takes(uint32_t tokens, uint32_t before, double core_seconds) override {
    tokens_ = tokens;
    before_ = before;
    core_seconds_ = core_seconds;
    return false;
  }
  void begin(Prompt) override {}
  void cancel(uint64_t) override {}
  std::vector<Done> take_done() override { return {}; }

  uint32_t tokens_ = 0, before_ = 0;
  double core_seconds_ = -1;
};

// Steps of a prompt have 128 tokens. Before each of them, steps of other requests take 2 s.
TEST_F(SchedulerTime, TurnsOfOthersCountInWhatTheCoresNeed) {
  AskedStreamer streamer;
  SchedulerOptions how = options(1000);
  how.streamer = &streamer;
  start(large(), how);
  ask(text(400, 1));
  scheduler_->step();
  EXPECT_EQ(streamer.core_seconds_, 0) << "nothing was measured";
  scheduler_->step();
  EXPECT_EQ(streamer.before_, 8u);
  EXPECT_EQ(streamer.tokens_, 391u);
  EXPECT_NEAR(streamer.core_seconds_, 0.391, 1e-9);
  run();
  ask(text(400, 1));
  for (int i = 0; i < 100; ++i) {
    scheduler_->note_wait(2);
    scheduler_->step();
  }
  ask(text(400, 1));
  scheduler_->step();
  EXPECT_NEAR(streamer.core_seconds_, 0.399 + 4 * 2, 1e-9);
  for (int i = 0; i < 100; ++i) {
    scheduler_->note_wait(0);
    scheduler_->step();
  }
  ask(text(400, 1));
  scheduler_->step();
  EXPECT_NEAR(streamer.core_seconds_, 0.399, 1e-9) << "the others have nothing to do any more";
}

// A step takes a millisecond for each of its tokens.
TEST_F(SchedulerTime, ResultsSayWhenTheyWereAdmittedAndBegan) {
  EngineOptions one_place = small();
  start(one_place, options(0));
  scheduler_->step();
  Request request = text(100, 3);
  request.choices = 2;
  Asked first = ask(request), second = ask(request_of_rows(130));
  run();
  std::vector<Result> results = read(first);
  ASSERT_EQ(results.size(), 6u);
  for (const Result& result : results) {
    EXPECT_DOUBLE_EQ(result.admitted_seconds, 1);
    EXPECT_DOUBLE_EQ(result.first_token_seconds, 1.1) << "two steps have 100 tokens";
  }
  results = read(second);
  ASSERT_EQ(results.size(), 130u);
  for (const Result& result : results) {
    EXPECT_GT(result.admitted_seconds, 1.1);
    EXPECT_GT(result.first_token_seconds, result.admitted_seconds);
    EXPECT_EQ(result.first_token_seconds, results[0].first_token_seconds);
  }
}

TEST_F(SchedulerTime, RequestsThatEndInTheQueueHaveNoAdmissionTime) {
  start(large(), options(0));
  Asked asked = ask(text(100, 3));
  asked.job->cancel();
  scheduler_->step();
  std::vector<Result> results = read(asked);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].admitted_seconds, 0);
  EXPECT_EQ(results[0].first_token_seconds, 0);
}

TEST_F(SchedulerTime, StepsAreCountedByTimeAndTokens) {
  start(large(), options(0));
  ask(text(100, 3));
  run();
  // One step has 100 tokens and takes 0.1 s, and two have one token.
  EXPECT_EQ(statistics_.step_tokens.count(), 3u);
  EXPECT_EQ(statistics_.step_tokens.sum(), 102);
  EXPECT_EQ(statistics_.step_tokens.count(0), 2u);
  EXPECT_EQ(statistics_.step_seconds.count(), 3u);
  EXPECT_NEAR(statistics_.step_seconds.sum(), 0.102, 1e-9);
}

}  // namespace
}  // namespace hearth
