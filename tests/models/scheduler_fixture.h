// The common part of the scheduler's tests: an engine over the tiny model, requests of random
// tokens, and the turns of a step.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "engine/check_request.h"
#include "engine/scheduler.h"
#include "formats/gguf.h"
#include "tiny_engine.h"

namespace hearth {

class SchedulerTest : public testing::Test {
 protected:
  static constexpr uint32_t kVocabulary = 80;

  struct Asked {
    std::shared_ptr<ResultStream> stream;
    std::shared_ptr<Job> job;
  };

  // Returns options with three pages: one context.
  static EngineOptions small() {
    EngineOptions options;
    options.threads = 1;
    options.context = 192;
    options.kv_pages = 3;
    options.prefill_rows = 64;
    options.decode_rows = 4;
    return options;
  }
  static EngineOptions large() {
    EngineOptions options = small();
    options.context = 512;
    options.kv_pages = 100;
    options.prefill_rows = 128;
    return options;
  }
  // Returns options with four contexts, and steps of many rows.
  static EngineOptions roomy(uint32_t context) {
    EngineOptions options;
    options.threads = 1;
    options.context = context;
    options.kv_pages = 4 * pages_for(context);
    options.prefill_rows = 256;
    options.decode_rows = 4;
    options.sequences = 4;
    return options;
  }
  void start(const EngineOptions& options, const SchedulerOptions& scheduler = {}) {
    engine_ = tiny_engine(file_, options);
    scheduler_ = std::make_unique<Scheduler>(*engine_, nullptr, scheduler, statistics_);
  }
  Request text(uint32_t prompt, uint32_t max_tokens) {
    Request request;
    request.prompt = random_tokens(random_, prompt, kVocabulary);
    request.max_tokens = max_tokens;
    request.logprobs = true;
    request.sampling.temperature = 1;
    return request;
  }
  Request text_of(std::vector<int32_t> prompt, uint32_t max_tokens) {
    Request request = text(1, max_tokens);
    request.prompt = std::move(prompt);
    return request;
  }
  static Request from(const char* client, Request request) {
    request.client = client;
    return request;
  }
  Request request_of_rows(uint32_t prompt) {
    Request request = text(prompt, 0);
    request.deliver = Deliver::kLogits;
    return request;
  }
  Asked ask(const Request& request, uint32_t capacity = 1024) {
    return ask(request, std::make_shared<ResultStream>(capacity));
  }
  Asked ask(const Request& request, std::shared_ptr<ResultStream> stream) {
    check_request(request, *engine_, nullptr, *stream);
    Asked asked{stream, std::make_shared<Job>(next_id_++, request, stream)};
    scheduler_->add(asked.job);
    return asked;
  }
  void run() {
    for (int step = 0; scheduler_->step(); ++step) ASSERT_LT(step, 10000);
  }
  static std::vector<Result> read(const Asked& asked) {
    std::vector<Result> results;
    while (std::optional<Result> result = asked.stream->try_pop()) {
      results.push_back(std::move(*result));
    }
    return results;
  }
  static std::vector<int32_t> tokens_of(const std::vector<Result>& results, uint32_t choice = 0) {
    std::vector<int32_t> tokens;
    for (const Result& result : results) {
      if (result.choice == choice && result.has_token()) tokens.push_back(result.token);
    }
    return tokens;
  }
  std::vector<Result> run_one(const Request& request) {
    const Asked asked = ask(request);
    run();
    return read(asked);
  }
  // Returns the tokens computed since the last call.
  uint64_t computed() {
    const uint64_t before = computed_;
    computed_ = statistics_.computed_tokens;
    return computed_ - before;
  }
  static constexpr uint32_t kReply = 70;
  // Runs `turns` turns of a text. Each may compute only the tokens that it adds, its reply, and
  // less than a page again (63 tokens). `last` is called with the last turn's request, the number
  // of tokens that it adds, and its results.
  template <typename Last>
  void run_turns(uint32_t length, uint32_t turns, const Last& last) {
    std::vector<int32_t> all;
    for (uint32_t turn = 0; turn < turns; ++turn) {
      const size_t own = length / turns - kReply - 1 - turn % 7;
      const std::vector<int32_t> message = random_tokens(random_, own, kVocabulary);
      all.insert(all.end(), message.begin(), message.end());
      const Request request = text_of(all, kReply);
      computed();
      const std::vector<Result> results = run_one(request);
      const std::vector<int32_t> reply = tokens_of(results);
      ASSERT_EQ(reply.size(), kReply);
      EXPECT_LE(computed(), own + kReply + 63) << "turn " << turn;
      if (turn + 1 == turns) last(request, own, results);
      all.insert(all.end(), reply.begin(), reply.end());
    }
  }
  static void expect_tokens(const std::vector<Result>& results,
                            const std::vector<TokenAlone>& alone) {
    ASSERT_EQ(results.size(), alone.size());
    for (size_t i = 0; i < alone.size(); ++i) {
      ASSERT_EQ(results[i].token, alone[i].token);
      ASSERT_EQ(results[i].logprob, alone[i].logprob);
    }
  }
  // Runs a client with two texts. In the middle of its prompt, the second one loses its place to
  // another client's text. Returns the second text's results.
  std::vector<Result> preempted_in_its_prompt(const Request& request) {
    const uint64_t before = statistics_.preemptions;
    const Asked older = ask(from("a", text(10, 200)));
    const Asked asked = ask(from("a", request));
    for (uint32_t tokens = 0; tokens < request.prompt.size() / 2;) {
      scheduler_->step();
      tokens += tokens_in_step(asked);
      EXPECT_LT(tokens, request.prompt.size());
    }
    const Asked other = ask(from("b", text(10, 3)));
    run();
    EXPECT_EQ(statistics_.preemptions - before, 1u);
    EXPECT_EQ(read(other).size(), 3u);
    EXPECT_EQ(read(older).size(), 200u);
    return read(asked);
  }
  // Returns the turn of a request's first choice in the last step; none where it did not run.
  std::optional<Scheduler::Turn> turn(const Asked& asked) const {
    for (const Scheduler::Turn& turn : scheduler_->last_turns()) {
      if (turn.request == asked.job->id() && turn.choice == 0) return turn;
    }
    return std::nullopt;
  }
  uint32_t tokens_in_step(const Asked& asked) const {
    return turn(asked).value_or(Scheduler::Turn{}).tokens;
  }
  uint32_t step_tokens() const {
    uint32_t tokens = 0;
    for (const Scheduler::Turn& turn : scheduler_->last_turns()) tokens += turn.tokens;
    return tokens;
  }

  uint64_t computed_ = 0;  // at computed()'s last call
  ModelSource file_ = parse_gguf(tiny_llama(kTiniest), "tiny");
  std::mt19937 random_{5};
  std::unique_ptr<Engine> engine_;
  Statistics statistics_;
  std::unique_ptr<Scheduler> scheduler_;
  uint64_t next_id_ = 0;
};

}  // namespace hearth
