// Tests of requests from their check to their end: which are refused, and how text and its end are
// made.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "engine/check_request.h"
#include "engine/scheduler.h"
#include "formats/gguf.h"
#include "tiny_engine.h"
#include "tokenizer/test_vocab.h"

namespace hearth {
namespace {

constexpr uint32_t kContext = 128;
// The model's table is padded beyond the existing tokens.
constexpr uint32_t kTokens = 260, kPadded = 272;
constexpr int32_t kEnd = 256;

TinyShape padded_shape() {
  TinyShape shape = kTiniest;
  shape.vocabulary = kPadded;
  return shape;
}

// Bytes 0 to 255, an end token and three more.
Vocab vocab() {
  Vocab vocab = bpe_vocab({});
  add_token(vocab, "<end>", TokenType::kControl);
  vocab.eog = {kEnd};
  add_words(vocab, kTokens);
  return vocab;
}

class RequestTest : public testing::Test {
 protected:
  RequestTest() { start(tiny_llama(padded_shape())); }

  void start(std::vector<std::byte> bytes) {
    file_ = std::make_unique<ModelSource>(parse_gguf(std::move(bytes), "tiny"));
    EngineOptions options;
    options.threads = 1;
    options.context = kContext;
    options.sequences = 4;
    scheduler_.reset();
    engine_ = tiny_engine(*file_, options);
    scheduler_ =
        std::make_unique<Scheduler>(*engine_, tokenizer_.get(), SchedulerOptions{}, statistics_);
  }
  // Returns a request whose text does not depend on the model. Its bias outweighs all logits, and
  // its penalty falls on tokens that have come. So with "ab" the text is a, b, a, b, ...
  static Request says(const std::string& letters) {
    Request request;
    request.prompt = {'x', 'y', 'z'};
    request.sampling.temperature = 0;
    request.sampling.frequency_penalty = 100;
    float bias = 10000;
    for (char letter : letters) {
      request.sampling.logit_bias.emplace_back(static_cast<uint8_t>(letter), bias);
      bias -= 10;
    }
    return request;
  }
  std::vector<Result> run(const Request& request) {
    auto stream = std::make_shared<ResultStream>(1024);
    auto job = add(request, stream);
    while (scheduler_->step()) {
    }
    return read(*stream);
  }
  std::shared_ptr<Job> add(const Request& request, std::shared_ptr<ResultStream> stream) {
    check_request(request, *engine_, tokenizer_.get(), *stream);
    auto job = std::make_shared<Job>(1, request, std::move(stream));
    scheduler_->add(job);
    return job;
  }
  static std::vector<Result> read(ResultStream& stream) {
    std::vector<Result> results;
    while (std::optional<Result> result = stream.try_pop()) results.push_back(std::move(*result));
    return results;
  }
  static std::string text_of(const std::vector<Result>& results) {
    std::string text;
    for (const Result& result : results) text += result.text;
    return text;
  }
  // Returns the error of check_request(); empty where the request is accepted.
  std::string refused(const Request& request, uint32_t capacity = 8) {
    ResultStream stream(capacity);
    try {
      check_request(request, *engine_, tokenizer_.get(), stream);
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  }

  std::unique_ptr<Tokenizer> tokenizer_ = Tokenizer::from_vocab(vocab());
  std::unique_ptr<ModelSource> file_;
  std::unique_ptr<Engine> engine_;
  Statistics statistics_;
  std::unique_ptr<Scheduler> scheduler_;
};

TEST_F(RequestTest, EndsAtItsLength) {
  Request request = says("ab");
  request.max_tokens = 5;
  std::vector<Result> results = run(request);
  EXPECT_EQ(results.size(), 5u);
  EXPECT_EQ(text_of(results), "ababa");
  EXPECT_EQ(results.back().finish, Finish::kLength);
}

TEST_F(RequestTest, EndsAtTheEndToken) {
  Request request = says("ab");
  request.sampling.logit_bias.emplace_back(kEnd, 9985.0f);
  request.stops = {"bx"};
  std::vector<Result> results = run(request);
  EXPECT_EQ(results.size(), 3u);
  EXPECT_EQ(text_of(results), "ab") << "what a stop string held back comes at the end";
  EXPECT_EQ(results.back().finish, Finish::kEndOfText);
  EXPECT_EQ(results.back().token, kEnd);
}

TEST_F(RequestTest, EndsAtAStopStringAcrossTokens) {
  Request request = says("abc");  // a, b, c, a, b, c, ...
  request.stops = {"zz", "caba", "bca"};
  request.max_tokens = 50;
  std::vector<Result> results = run(request);
  EXPECT_EQ(results.size(), 4u);
  EXPECT_EQ(text_of(results), "a");
  EXPECT_EQ(results[0].text, "a");
  EXPECT_EQ(results.back().finish, Finish::kStopString);
  EXPECT_EQ(results.back().stop, "bca");
}

TEST_F(RequestTest, EndsWhereTheContextIsFull) {
  Request request = says("ab");
  request.prompt.assign(kContext - 2, 'x');
  std::vector<Result> results = run(request);
  EXPECT_EQ(results.size(), 3u) << "the last token need not be computed";
  EXPECT_EQ(results.back().finish, Finish::kContext);
  request.prompt.assign(kContext, 'x');
  results = run(request);
  EXPECT_EQ(results.size(), 1u);
  EXPECT_EQ(results.back().finish, Finish::kContext);
}

TEST_F(RequestTest, CancellingFlushesHeldBackText) {
  Request request = says("ab");
  request.stops = {"abax"};
  auto stream = std::make_shared<ResultStream>(64);
  auto job = add(request, stream);
  for (int i = 0; i < 3; ++i) scheduler_->step();
  job->cancel();
  scheduler_->step();
  std::vector<Result> results = read(*stream);
  ASSERT_EQ(results.size(), 4u);
  EXPECT_EQ(results[2].text, "");
  EXPECT_EQ(results[3].text, "aba");
  EXPECT_EQ(results[3].finish, Finish::kCancelled);
  EXPECT_FALSE(results[3].has_token());
}

TEST_F(RequestTest, PartsOfCharactersAreHeldBack) {
  Request request = says("\xC3\xA9!");
  request.max_tokens = 4;
  std::vector<Result> results = run(request);
  ASSERT_EQ(results.size(), 4u);
  EXPECT_EQ(results[0].text, "");
  EXPECT_EQ(results[1].text, "\xC3\xA9");
  EXPECT_EQ(results[2].text, "!");
  EXPECT_EQ(results[3].text, "\xEF\xBF\xBD") << "the end came within a character";
}

TEST_F(RequestTest, LogitsThatAreNoNumbersFailIt) {
  // The last bytes of the file are the tensor output_norm. Here each of its values becomes 3.4e38.
  std::vector<std::byte> bytes = tiny_llama(padded_shape());
  std::memset(bytes.data() + bytes.size() - 128, 0x7f, 128);
  start(std::move(bytes));
  Request request = says("a");
  request.choices = 2;
  std::vector<Result> results = run(request);
  ASSERT_EQ(results.size(), 2u);
  for (const Result& result : results) {
    EXPECT_EQ(result.finish, Finish::kFailed);
    EXPECT_NE(result.error.find("not numbers"), std::string::npos) << result.error;
    EXPECT_FALSE(result.has_token());
  }
  EXPECT_EQ(statistics_.failed_choices, 2u);
  EXPECT_EQ(statistics_.generated_tokens, 0u);
}

TEST_F(RequestTest, PaddingTokensAreNeverSampled) {
  Request request = says("");
  request.sampling = {};
  request.sampling.temperature = 100;
  request.sampling.top_k = 0;
  request.sampling.top_p = 1;
  request.sampling.min_p = 0;
  request.top_logprobs = kPadded;
  request.sampling.logit_bias = {{kEnd, -INFINITY}};
  std::vector<Result> results = run(request);
  EXPECT_GT(results.size(), 100u);
  for (const Result& result : results) {
    EXPECT_LT(result.token, static_cast<int32_t>(kTokens));
    EXPECT_EQ(result.top_logprobs.size(), kTokens);
  }
}

TEST_F(RequestTest, RefusesInvalidRequests) {
  Request good = says("ab");
  EXPECT_EQ(refused(good), "");
  auto with = [&](auto change) {
    Request request = good;
    change(request);
    return refused(request);
  };
  auto says_so = [](const std::string& message, const char* part) {
    EXPECT_NE(message.find(part), std::string::npos) << message << " | " << part;
  };
  says_so(with([](Request& r) { r.prompt.clear(); }), "prompt is empty");
  says_so(with([](Request& r) { r.prompt.assign(129, 1); }), "129 tokens");
  says_so(with([](Request& r) { r.prompt = {1, -1}; }), "token -1");
  says_so(with([](Request& r) { r.prompt = {kPadded}; }), "prompt has token 272");
  says_so(with([](Request& r) { r.prompt = {kTokens}; }), "token 260; the vocabulary has 0 to 259");
  says_so(with([](Request& r) { r.sampling.logit_bias = {{kTokens, 1}}; }), "token 260");
  says_so(with([](Request& r) { r.choices = 0; }), "choices is 0");
  says_so(with([](Request& r) { r.choices = 9; }),
          "choices is 9, and the result stream holds only 8 results: make it hold at least 9, "
          "better 72");
  says_so(with([](Request& r) { r.stops = {"a", ""}; }), "stops has an empty text");
  says_so(with([](Request& r) { r.sampling.temperature = -1; }), "temperature is -1");
  for (Deliver deliver : {Deliver::kLogits, Deliver::kHidden}) {
    good.deliver = deliver;
    EXPECT_EQ(refused(good), "");
    says_so(with([](Request& r) { r.rows_from = 3; }), "rows_from is position 3");
    says_so(with([](Request& r) { r.choices = 2; }), "choices is 2");
    EXPECT_EQ(with([](Request& r) { r.prompt = {kTokens}; }), "") << "padding has rows, too";
    says_so(with([](Request& r) { r.prompt = {kPadded}; }), "token 272");
  }
}

TEST_F(RequestTest, HiddenStatesNeedRoom) {
  EngineOptions options;
  options.threads = 1;
  options.context = kContext;
  options.hidden_rows = 0;
  engine_ = tiny_engine(*file_, options);
  Request request = says("a");
  EXPECT_EQ(refused(request), "");
  request.deliver = Deliver::kHidden;
  EXPECT_NE(refused(request).find("deliver asks for hidden states"), std::string::npos);
}

TEST(FinishNames, AreStable) {
  std::vector<std::string> names;
  for (Finish finish : {Finish::kEndOfText, Finish::kLength, Finish::kContext, Finish::kStopString,
                        Finish::kComplete, Finish::kCancelled, Finish::kFailed}) {
    names.emplace_back(finish_name(finish));
  }
  EXPECT_EQ(names, (std::vector<std::string>{"end of text", "length", "context", "stop string",
                                             "complete", "cancelled", "failed"}));
}

}  // namespace
}  // namespace hearth
