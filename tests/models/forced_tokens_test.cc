// Tests of forced tokens, to which the grammar leaves no alternative. They are computed together
// with the token before them. Yet every text is the same as if its tokens were computed one after
// another, whatever other clients do and even if it loses its pages.
#include <algorithm>
#include <map>

#include "grammar/forced_tokens.h"
#include "grammar/gbnf.h"
#include "schedule_watch.h"
#include "scheduler_fixture.h"
#include "tokenizer/test_vocab.h"

namespace hearth {
namespace {

constexpr const char* kRecords = R"((\{"name":"[ab]{2}","order":(1|2)\}){9})";

class ForcedTokens : public SchedulerTest {
 protected:
  struct Choice {
    std::vector<int32_t> tokens;
    std::string text;
    Finish finish;
    uint32_t sampled = 0;
    uint32_t longest_run = 0;  // of tokens delivered at once
    std::vector<float> last;   // the logits of the last token
  };

  ForcedTokens() { file_ = parse_gguf(tiny_llama(shape()), "tiny"); }

  static TinyShape shape() {
    TinyShape shape = kTiniest;
    shape.vocabulary = 266;
    return shape;
  }
  void start(const EngineOptions& options, const SchedulerOptions& scheduler = {}) {
    engine_ = tiny_engine(file_, options);
    scheduler_ = std::make_unique<Scheduler>(*engine_, tokenizer_.get(), scheduler, statistics_);
  }
  Request in(std::string_view pattern, uint32_t prompt = 20, float temperature = 1) {
    Request request = text(prompt, 0);
    request.logprobs = false;
    request.sampling.temperature = temperature;
    request.sampling.seed = random_();
    request.language =
        std::make_shared<const Matcher>(pattern_grammar(pattern), VocabularyTrie::of(*tokenizer_));
    return request;
  }

  // Makes a text token by token, each computed in a step of its own.
  Choice by_hand(const Request& request, uint32_t choice = 0) const {
    SamplingParams params = request.sampling;
    params.seed += choice;
    Sampler sampler(params);
    for (int32_t token : request.prompt) sampler.accept_prompt(token);
    Matcher language = *request.language;
    auto sequence = engine_->new_sequence(static_cast<uint32_t>(request.prompt.size()));
    engine_->prefill(*sequence, request.prompt);
    Choice got;
    std::vector<int32_t> forced;
    for (uint32_t run = 0;;) {
      if (forced.empty()) {
        const std::string before =
            got.tokens.empty() ? "" : tokenizer_->token_bytes(got.tokens.back());
        forced = forced_tokens(language, *tokenizer_, before);
      }
      int32_t token = 0;
      if (forced.empty()) {
        token = sample(sampler, language);
        ++got.sampled;
        run = 0;
      } else {
        token = forced.front();
        forced.erase(forced.begin());
      }
      got.longest_run = std::max(got.longest_run, ++run);
      sampler.accept(token);
      EXPECT_TRUE(language.accept(token));
      got.tokens.push_back(token);
      got.text += tokenizer_->token_bytes(token);
      const bool full = sequence->length() == engine_->context();
      if (!full) {
        engine_->prefill(*sequence, {&token, 1});
        got.last.assign(engine_->logits(0).begin(), engine_->logits(0).end());
      }
      got.finish = Finish::kEndOfText;
      if (language.must_end()) return got;
      got.finish = got.tokens.size() == request.max_tokens ? Finish::kLength : Finish::kContext;
      if (full || got.finish == Finish::kLength) return got;
    }
  }
  void expect_by_hand(const Request& request, const std::vector<Result>& results) const {
    for (uint32_t choice = 0; choice < request.choices; ++choice) {
      const Choice expected = by_hand(request, choice);
      EXPECT_EQ(tokens_of(results, choice), expected.tokens);
      std::string text;
      uint32_t index = 0;
      std::optional<Finish> finish;
      for (const Result& result : results) {
        if (result.choice != choice) continue;
        EXPECT_EQ(result.index, index++);
        EXPECT_FALSE(finish);
        text += result.text;
        finish = result.finish;
      }
      EXPECT_EQ(text, expected.text);
      EXPECT_EQ(finish, expected.finish);
    }
  }
  static uint32_t max_in_step(const std::vector<Scheduler::Turn>& turns) {
    uint32_t most = 0;
    for (const Scheduler::Turn& turn : turns) {
      if (turn.decodes) most = std::max(most, turn.tokens);
    }
    return most;
  }

  std::unique_ptr<Tokenizer> tokenizer_ = Tokenizer::from_vocab(
      bpe_vocab({"o r", "d e", "or de", "orde r", "n a", "m e", "na me", "{ \"", "a b", "b a"}));

 private:
  int32_t sample(Sampler& sampler, Matcher& language) const {
    const std::span<const float> row = engine_->logits(0);
    if (sampler.draws_from_all(row.size())) {
      const int32_t token = sampler.sample(row).value();
      if (language.allows(token)) return token;
    }
    std::vector<uint64_t> mask(language.vocabulary().mask_words());
    language.mask(mask);
    return sampler.sample(row, mask).value();
  }
};

TEST_F(ForcedTokens, OneStepComputesThem) {
  for (const float temperature : {0.0f, 1.0f}) {
    start(large());
    const Request request = in(kRecords, 20, temperature);
    const Choice expected = by_hand(request);
    const uint64_t steps = statistics_.steps, forced = statistics_.forced_tokens;
    const uint64_t generated = statistics_.generated_tokens;
    const Asked asked = ask(request);
    uint32_t most = 0;
    size_t results = 0;
    std::vector<Result> all;
    while (scheduler_->step()) {
      most = std::max(most, max_in_step(scheduler_->last_turns()));
      const std::vector<Result> got = read(asked);
      results = std::max(results, got.size());
      std::ranges::copy(got, std::back_inserter(all));
      for (const Result& result : got) {
        EXPECT_EQ(result.computed_seconds, got[0].computed_seconds);
      }
    }
    expect_by_hand(request, all);
    EXPECT_EQ(all.back().finish, Finish::kEndOfText);
    EXPECT_GT(expected.longest_run, 5u);
    EXPECT_EQ(most, expected.longest_run);
    EXPECT_EQ(results, expected.longest_run);
    EXPECT_EQ(statistics_.steps - steps, expected.sampled + 1) << "the prompt, and each sampled";
    EXPECT_EQ(statistics_.generated_tokens - generated, expected.tokens.size());
    EXPECT_EQ(statistics_.forced_tokens - forced, expected.tokens.size() - expected.sampled);
  }
}

TEST_F(ForcedTokens, KeysAndValuesAreThoseOfOneAfterAnother) {
  start(large());
  const Request request = in(kRecords, 100);
  const Choice expected = by_hand(request);
  start(large());
  const Asked asked = ask(request);
  run();
  const std::vector<int32_t> tokens = tokens_of(read(asked));
  ASSERT_EQ(tokens, expected.tokens);
  Request row = request;
  row.language = nullptr;
  row.deliver = Deliver::kLogits;
  row.prompt.insert(row.prompt.end(), tokens.begin(), tokens.end());
  row.rows_from = static_cast<uint32_t>(row.prompt.size()) - 1;
  const Asked asked_row = ask(row);
  run();
  const std::vector<Result> rows = read(asked_row);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_GE(rows[0].cached_tokens, 128u) << "pages that forced tokens are in";
  EXPECT_EQ(rows[0].row, expected.last);
}

TEST_F(ForcedTokens, NoMoreThanSixteenComeAtOnce) {
  start(large());
  const Request request = in("[ab]" + std::string(50, 'q') + "[ab]");
  const Asked asked = ask(request);
  std::vector<size_t> sizes;
  std::vector<Result> all;
  while (scheduler_->step()) {
    const std::vector<Result> got = read(asked);
    sizes.push_back(got.size());
    std::ranges::copy(got, std::back_inserter(all));
  }
  EXPECT_EQ(sizes, (std::vector<size_t>{16, 16, 16, 3, 1}));
  expect_by_hand(request, all);
}

TEST_F(ForcedTokens, LengthAndContextEndInTheirMiddle) {
  start(large());
  for (uint32_t most = 1; most < 40; ++most) {
    Request request = in(kRecords);
    request.max_tokens = most;
    const Asked asked = ask(request);
    run();
    const std::vector<Result> results = read(asked);
    EXPECT_EQ(results.size(), most);
    expect_by_hand(request, results);
  }
  start(small());
  for (uint32_t prompt = 150; prompt < 192; prompt += 3) {
    const Request request = in(kRecords, prompt);
    const Asked asked = ask(request);
    run();
    const std::vector<Result> results = read(asked);
    EXPECT_EQ(results.back().finish, Finish::kContext);
    expect_by_hand(request, results);
  }
}

TEST_F(ForcedTokens, EveryChoiceHasItsOwn) {
  start(large());
  for (const char* pattern : {kRecords, R"([ab]{2}","name":([ab]{2},"order":){4})"}) {
    for (const uint32_t capacity : {4u, 30u, 1024u}) {
      Request request = in(pattern);
      request.choices = 4;
      const Asked asked = ask(request, capacity);
      std::vector<Result> all;
      while (scheduler_->step()) {
        const std::vector<Result> got = read(asked);
        EXPECT_LE(got.size(), capacity);
        std::ranges::copy(got, std::back_inserter(all));
      }
      expect_by_hand(request, all);
    }
  }
}

TEST_F(ForcedTokens, AClientThatReadsSlowlyGetsTheSame) {
  start(large());
  for (const uint32_t capacity : {1u, 2u, 7u, 20u}) {
    const Request request = in(kRecords), other = in(kRecords);
    const Asked slow = ask(request, capacity), quick = ask(other);
    std::vector<Result> all;
    run();
    expect_by_hand(other, read(quick));
    for (int round = 0; round < 1000; ++round) {
      std::optional<Result> result = slow.stream->try_pop();
      if (result) all.push_back(std::move(*result));
      if (!all.empty() && all.back().finish) break;
      run();
    }
    expect_by_hand(request, all);
    EXPECT_TRUE(slow.stream->reserve(capacity)) << "all room was given back";
  }
}

TEST_F(ForcedTokens, ATextIsTheSameThoughItLosesItsPages) {
  for (const bool prefix_cache : {false, true}) {
    SchedulerOptions options;
    options.prefix_cache = prefix_cache;
    start(small(), options);
    std::vector<Request> requests;
    for (const uint32_t prompt : {60u, 50u, 40u, 2u}) requests.push_back(in(kRecords, prompt));
    std::vector<Asked> all;
    const uint64_t preemptions = statistics_.preemptions;
    for (const Request& request : requests) all.push_back(ask(request));
    run();
    EXPECT_GE(statistics_.preemptions - preemptions, 2u);
    for (size_t i = 0; i < all.size(); ++i) expect_by_hand(requests[i], read(all[i]));
    EXPECT_EQ(engine_->pool().available(), 3u);
  }
}

TEST_F(ForcedTokens, CancelledRequestsGetNoMoreTokens) {
  start(large());
  const Asked asked = ask(in(kRecords), 100);
  for (int i = 0; i < 3; ++i) scheduler_->step();
  asked.job->cancel();
  EXPECT_FALSE(scheduler_->step());
  const std::vector<Result> results = read(asked);
  EXPECT_GT(results.size(), 4u);
  EXPECT_EQ(results.back().finish, Finish::kCancelled);
  EXPECT_EQ(std::ranges::count_if(results, [](const Result& r) { return r.finish.has_value(); }),
            1);
  EXPECT_TRUE(asked.stream->reserve(100)) << "its room was given back";
  EXPECT_EQ(engine_->pool().available(), engine_->pool().page_count());
}

TEST_F(ForcedTokens, EverySequenceGetsATokenBeforeForcedOnesAreAdded) {
  SchedulerOptions options;
  options.step_tokens = 12;
  options.min_chunk = 2;
  options.step_seconds = 0;
  start(large(), options);
  std::vector<Request> requests;
  std::vector<Asked> all;
  for (int i = 0; i < 9; ++i) {
    requests.push_back(in(kRecords, 1));
    all.push_back(ask(requests.back()));
  }
  ScheduleWatch watch;
  uint32_t most = 0;
  while (scheduler_->step()) {
    EXPECT_LE(step_tokens(), 12u);
    EXPECT_EQ(watch.look(*scheduler_, false), "");
    most = std::max(most, max_in_step(scheduler_->last_turns()));
    for (const Scheduler::Turn& turn : scheduler_->last_turns()) EXPECT_GT(turn.tokens, 0u);
  }
  EXPECT_GT(most, 1u);
  for (size_t i = 0; i < all.size(); ++i) expect_by_hand(requests[i], read(all[i]));
}

TEST_F(ForcedTokens, TheyTakeNoMoreTimeThanAChunkOfAPrompt) {
  uint32_t calls = 0;
  double now = 1;
  SchedulerOptions options;
  options.step_seconds = 0.0301;
  options.min_chunk = 4;
  options.clock = [&] {
    if ((calls++ & 1) != 0) now += 1e-3 * step_tokens();
    return now;
  };
  start(large(), options);
  std::vector<Request> requests;
  std::vector<Asked> all;
  for (int i = 0; i < 8; ++i) {
    requests.push_back(in("([ab]" + std::string(15, 'q') + "){9}", 10));
    all.push_back(ask(requests.back()));
  }
  uint32_t decoded = 0;
  while (scheduler_->step()) {
    const std::vector<Scheduler::Turn>& turns = scheduler_->last_turns();
    if (turns.size() < 8) continue;
    uint32_t tokens = 0;
    for (const Scheduler::Turn& turn : turns) tokens += turn.decodes ? turn.tokens : 0;
    EXPECT_LE(tokens, 30u);
    decoded = std::max(decoded, tokens);
  }
  EXPECT_EQ(decoded, 30u);
  for (size_t i = 0; i < all.size(); ++i) expect_by_hand(requests[i], read(all[i]));
}

// The prompt's rows are expanded and later ones are not, however many tokens a step has.
TEST_F(ForcedTokens, AreTheSameWithLatents) {
  file_ = parse_gguf(tiny_deepseek2(shape()), "tiny");
  EngineOptions expanding = large();
  expanding.expand = {.tail = 64, .step = 64};
  start(expanding);
  for (const uint32_t prompt : {20u, 200u}) {
    const Request request = in(kRecords, prompt);
    const Asked asked = ask(request);
    uint32_t most = 0;
    while (scheduler_->step()) most = std::max(most, max_in_step(scheduler_->last_turns()));
    EXPECT_GT(most, 5u);
    expect_by_hand(request, read(asked));
  }
}

// All threads sample, each for another sequence.
TEST_F(ForcedTokens, TheyAreTheSameOnAnyNumberOfThreads) {
  std::vector<Request> requests;
  const char* patterns[] = {kRecords, "[a-z]{30}", R"(([a-z]{5}"|order){9})"};
  for (int i = 0; i < 12; ++i) {
    Request request = in(patterns[i % 3], 10);
    if (i % 4 == 1) request.sampling.temperature = 0;
    if (i % 4 >= 2) request.sampling.top_k = 5;
    request.sampling.top_p = i % 4 == 3 ? 0.9f : 1;
    request.sampling.min_p = 0;
    requests.push_back(request);
  }
  std::vector<std::vector<Result>> first;
  for (const uint32_t threads : {1u, 2u, 5u}) {
    EngineOptions options = large();
    options.decode_rows = 16;
    options.threads = threads;
    options.shards = std::min(threads, 2u);
    start(options);
    std::vector<Asked> all;
    for (const Request& request : requests) all.push_back(ask(request));
    Request scored = requests[0];
    scored.top_logprobs = 3;
    all.push_back(ask(scored));
    run();
    std::vector<std::vector<Result>> results;
    for (const Asked& one : all) results.push_back(read(one));
    for (size_t i = 0; i < requests.size(); ++i) expect_by_hand(requests[i], results[i]);
    if (first.empty()) first = results;
    for (size_t i = 0; i < results.size(); ++i) {
      ASSERT_EQ(tokens_of(results[i]), tokens_of(first[i])) << threads << " threads";
    }
    for (size_t i = 0; i < first.back().size(); ++i) {
      EXPECT_EQ(results.back()[i].logprob, first.back()[i].logprob);
      EXPECT_EQ(results.back()[i].top_logprobs, first.back()[i].top_logprobs);
    }
  }
}

TEST_F(ForcedTokens, AFailingGrammarEndsOnlyItsOwnRequest) {
  // One of the texts exhausts the states that the grammar's lexer may have.
  std::shared_ptr<const Grammar> grammar = pattern_grammar("[ab]*a([ab]{3}c|[ab]{40}d)");
  const auto vocabulary = VocabularyTrie::of(*tokenizer_);
  Matcher spender(grammar, vocabulary);
  EXPECT_THROW(
      {
        for (;;) spender.accept(tokenizer_->encode(random_() % 2 == 0 ? "a" : "b")[0]);
      },
      Error);
  for (const uint32_t threads : {1u, 3u}) {
    EngineOptions options = large();
    options.threads = threads;
    start(options);
    std::vector<Request> requests;
    std::vector<Asked> all;
    for (int i = 0; i < 4; ++i) {
      requests.push_back(in(kRecords, 10));
      if (i == 1) requests[1].language = std::make_shared<const Matcher>(grammar, vocabulary);
      all.push_back(ask(requests.back()));
    }
    run();
    for (size_t i = 0; i < all.size(); ++i) {
      const std::vector<Result> results = read(all[i]);
      if (i != 1) {
        expect_by_hand(requests[i], results);
        continue;
      }
      EXPECT_EQ(results.back().finish, Finish::kFailed);
      EXPECT_NE(results.back().error.find("states"), std::string::npos) << results.back().error;
    }
    EXPECT_EQ(engine_->pool().available(), engine_->pool().page_count());
  }
}

// Draws steps, limits, choices and clients at random, so that events coincide that no other test
// combines.
TEST_F(ForcedTokens, RandomSchedulesGiveTheSame) {
  const char* patterns[] = {kRecords, R"(([ab]{1,3}q{20}){0,4}order)", R"((name":"[a-z]{3},)*)"};
  for (int round = 0; round < 12; ++round) {
    SchedulerOptions options;
    options.step_tokens = 2 + random_() % 40;
    options.min_chunk = 1 + random_() % 20;
    options.prefix_cache = random_() % 2 == 0;
    start(small(), options);
    std::vector<std::pair<Request, Asked>> all;
    for (int i = 0; i < 6; ++i) {
      Request request = in(patterns[random_() % 3], 1 + random_() % 100);
      request.max_tokens = random_() % 2 == 0 ? 0 : 1 + random_() % 70;
      request.choices = 1 + random_() % 3;
      request.sampling.repeat_penalty = random_() % 2 == 0 ? 1 : 1.2f;
      all.emplace_back(request, ask(request, 3 + random_() % 40));
    }
    std::map<uint64_t, std::vector<Result>> results;
    ScheduleWatch watch;
    for (int step = 0; step < 5000 && statistics_.running + statistics_.waiting > 0; ++step) {
      const uint64_t preemptions = statistics_.preemptions;
      scheduler_->step();
      ASSERT_EQ(watch.look(*scheduler_, statistics_.preemptions != preemptions), "");
      for (const auto& [request, asked] : all) {
        for (uint32_t n = random_() % 12; n > 0; --n) {
          std::optional<Result> result = asked.stream->try_pop();
          if (!result) break;
          results[asked.job->id()].push_back(std::move(*result));
        }
      }
    }
    for (const auto& [request, asked] : all) {
      std::ranges::move(read(asked), std::back_inserter(results[asked.job->id()]));
      expect_by_hand(request, results[asked.job->id()]);
    }
    ASSERT_FALSE(HasFailure()) << "round " << round;
    EXPECT_EQ(engine_->pool().available(), engine_->pool().page_count());
  }
}

}  // namespace
}  // namespace hearth
