#include "engine/generation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <regex>

#include "grammar/grammar_builder.h"
#include "grammar/regex_parser.h"
#include "grammar/token_mask.h"
#include "tokenizer/test_vocab.h"

namespace hearth {
namespace {

// Logits that count the calls of best() and of all().
class MadeRow : public RowLogits {
 public:
  explicit MadeRow(std::vector<float> logits) : logits_(std::move(logits)) {}

  std::span<const TokenLogit> best(uint32_t count, uint32_t below) override {
    ++asked;
    if (!all_finite(logits_)) return {};
    best_.start(count);
    best_.offer(std::span(logits_).first(below));
    return best_.sorted();
  }
  std::span<const float> all() override {
    ++whole;
    ++asked;
    return logits_;
  }

  int whole = 0, asked = 0;

 private:
  std::vector<float> logits_;
  TopTokens best_;
};

class GenerationTest : public testing::Test {
 protected:
  static Request request() {
    Request request;
    request.prompt = {'x'};
    request.sampling.temperature = 0;
    return request;
  }
  void start(const Request& request) {
    auto job = std::make_shared<Job>(7, request, stream_);
    generation_ = std::make_unique<Generation>(std::move(job), 0, 0);
  }
  // Returns logits in which `token` is the largest.
  static std::vector<float> for_token(int32_t token) {
    std::vector<float> logits(256);
    logits[static_cast<size_t>(token)] = 9;
    return logits;
  }
  Result take(const std::vector<float>& logits) {
    MadeRow row(logits);
    return take(row);
  }
  Result take(RowLogits& logits) {
    EXPECT_TRUE(stream_->reserve(1));
    const std::optional<Finish> finish = generation_->take_token(logits, limits_);
    Result result = *stream_->try_pop();
    EXPECT_EQ(result.finish, finish);
    return result;
  }

  std::unique_ptr<Tokenizer> tokenizer_ = Tokenizer::from_vocab(bpe_vocab({}));
  GenerationLimits limits_{tokenizer_.get(), 256, 100};
  std::shared_ptr<ResultStream> stream_ = std::make_shared<ResultStream>();
  std::unique_ptr<Generation> generation_;
};

TEST_F(GenerationTest, ResultsSayWhoseTheyAre) {
  start(request());
  for (uint32_t i = 0; i < 3; ++i) {
    Result result = take(for_token('a'));
    EXPECT_EQ(result.request, 7u);
    EXPECT_EQ(result.choice, 0u);
    EXPECT_EQ(result.index, i);
    EXPECT_EQ(result.text, "a");
    EXPECT_FALSE(result.finish);
  }
  EXPECT_EQ(generation_->tokens().size(), 4u);
}

TEST_F(GenerationTest, LogprobsAreTheModelsNotTheSamplers) {
  Request biased = request();
  biased.sampling.logit_bias = {{'b', 100}};
  biased.logprobs = true;
  biased.top_logprobs = 2;
  start(biased);
  Result result = take(for_token('a'));
  EXPECT_EQ(result.token, 'b');
  double norm = std::log(std::exp(9.0) + 255);
  // The norm is a sum of 256 exponentials. Each addition rounds by 2^-53 of the sum.
  EXPECT_NEAR(result.logprob, -norm, 1e-12);
  ASSERT_EQ(result.top_logprobs.size(), 2u);
  EXPECT_EQ(result.top_logprobs[0].first, 'a');
  EXPECT_NEAR(result.top_logprobs[0].second, 9 - norm, 1e-12);
}

TEST_F(GenerationTest, LogprobsNeedTheWholeRow) {
  for (const auto& [logprobs, top] : {std::pair(false, 0u), {true, 0u}, {false, 1u}}) {
    Request probable = request();
    probable.logprobs = logprobs;
    probable.top_logprobs = top;
    start(probable);
    MadeRow row(for_token('b'));
    EXPECT_EQ(take(row).text, "b");
    EXPECT_EQ(row.whole, logprobs || top > 0 ? 1 : 0);
  }
}

TEST_F(GenerationTest, LogitsThatAreNoNumbersEndIt) {
  for (const float temperature : {0.0f, 1.0f}) {
    Request drawn = request();
    drawn.sampling.temperature = temperature;
    start(drawn);
    const Result result = take(std::vector<float>(256, NAN));
    EXPECT_EQ(result.finish, Finish::kFailed);
    EXPECT_NE(result.error.find("not numbers"), std::string::npos);
  }
}

TEST_F(GenerationTest, FailureFlushesHeldBackText) {
  Request stops = request();
  stops.stops = {"abc"};
  start(stops);
  EXPECT_EQ(take(for_token('a')).text, "");
  EXPECT_EQ(take(for_token('b')).text, "");
  Result result = take(std::vector<float>(256, NAN));
  EXPECT_EQ(result.finish, Finish::kFailed);
  EXPECT_EQ(result.text, "ab");
}

TEST_F(GenerationTest, FailsWhereEveryTokenIsForbidden) {
  Request forbidden = request();
  for (int32_t token = 0; token < 256; ++token) {
    forbidden.sampling.logit_bias.emplace_back(token, -INFINITY);
  }
  start(forbidden);
  Result result = take(for_token('a'));
  EXPECT_EQ(result.finish, Finish::kFailed);
  EXPECT_FALSE(result.has_token());
  EXPECT_NE(result.error.find("forbids every one"), std::string::npos) << result.error;
}

TEST_F(GenerationTest, WithoutATokenizerThereIsNoText) {
  limits_.tokenizer = nullptr;
  start(request());
  EXPECT_EQ(take(for_token('a')).text, "");
  EXPECT_EQ(generation_->tokens().back(), 'a');
}

TEST_F(GenerationTest, TheFirstChoiceEndsForAll) {
  Request three = request();
  three.choices = 3;
  start(three);
  EXPECT_EQ(generation_->choices_together(), 3u);
  generation_->end(Finish::kCancelled);
  std::vector<uint32_t> choices;
  while (std::optional<Result> result = stream_->try_pop()) {
    EXPECT_EQ(result->finish, Finish::kCancelled);
    choices.push_back(result->choice);
  }
  std::sort(choices.begin(), choices.end());
  EXPECT_EQ(choices, (std::vector<uint32_t>{0, 1, 2}));
}

// Generates text by a regular expression, from the tokens of GenerationTest, which are bytes.
class LanguageTest : public GenerationTest {
 protected:
  Request in(std::string_view pattern) {
    Request request = GenerationTest::request();
    GrammarBuilder builder;
    const Symbol text =
        builder.terminal(parse_pattern(builder.regexes(), pattern, {.search = false}));
    request.language =
        std::make_shared<const Matcher>(builder.build(text), VocabularyTrie::of(*tokenizer_));
    return request;
  }
  // Returns the text that is generated if every step gives this row, and its finish.
  std::pair<std::string, std::optional<Finish>> text_of(const Request& request, RowLogits& row) {
    start(request);
    std::string text;
    for (int i = 0; i < 20; ++i) {
      const Result result = take(row);
      text += result.text;
      if (result.finish) return {text, result.finish};
    }
    return {text, std::nullopt};
  }
};

TEST_F(LanguageTest, TakesTheLikeliestThatMayComeAndEndsWhereNothingMay) {
  MadeRow row(for_token('a'));
  EXPECT_EQ(text_of(in("[xw][abc]{3}[yz]"), row),
            std::pair(std::string("waaay"), std::optional(Finish::kEndOfText)));
  EXPECT_EQ(row.whole, 2) << "w and y, which are not among the 64 likeliest";
}

TEST_F(LanguageTest, LooksForStopStringsInWhatHasTheirTags) {
  GrammarBuilder builder;
  RegexSet& set = builder.regexes();
  const Symbol before = builder.terminal(set.literal("aa"));
  builder.set_tag(1);
  const Symbol behind = builder.terminal(set.repeat(set.literal("a"), 0, kNoLimit));
  const Symbol text = builder.rule("text");
  builder.add(text, {before, behind});
  Request request = GenerationTest::request();
  request.language =
      std::make_shared<const Matcher>(builder.build(text), VocabularyTrie::of(*tokenizer_));
  request.stops = {"aaa"};
  request.stop_tags = 2;
  MadeRow row(for_token('a'));
  EXPECT_EQ(text_of(request, row),
            std::pair(std::string("aaaaa"), std::optional(Finish::kStopString)));
  request.stop_tags = 1;
  request.max_tokens = 9;
  EXPECT_EQ(text_of(request, row),
            std::pair(std::string("aaaaaaaaa"), std::optional(Finish::kLength)));
}

TEST_F(LanguageTest, HoldsForEveryWayToSample) {
  std::mt19937 random(3);
  const auto pattern = "(ab|cd){2,4}e";
  const std::regex wanted(pattern);
  for (uint32_t round = 0; round < 200; ++round) {
    Request request = in(pattern);
    SamplingParams& sampling = request.sampling;
    sampling.seed = round;
    sampling.temperature = round % 4 == 0 ? 0.0f : 1.5f;
    sampling.top_k = round % 3 == 0 ? 0 : 5;
    sampling.top_p = round % 5 == 0 ? 1.0f : 0.9f;
    sampling.min_p = round % 2 == 0 ? 0 : 0.1f;
    sampling.repeat_penalty = round % 7 == 0 ? 1.2f : 1;
    request.logprobs = round % 11 == 0;
    std::vector<float> logits(256);
    for (float& logit : logits) logit = static_cast<float>(random() % 100) * 0.1f;
    MadeRow row(logits);
    const auto [text, finish] = text_of(request, row);
    EXPECT_EQ(finish, Finish::kEndOfText);
    EXPECT_TRUE(std::regex_match(text, wanted)) << text;
  }
}

TEST_F(LanguageTest, EndsWithFailureWhereOptionsForbidWhatMayCome) {
  Request request = in("ab");
  request.sampling.logit_bias = {{'b', -INFINITY}};
  MadeRow row(for_token('c'));
  start(request);
  EXPECT_EQ(take(row).text, "a");
  const Result result = take(row);
  EXPECT_EQ(result.finish, Finish::kFailed);
  EXPECT_NE(result.error.find("grammar or schema"), std::string::npos);
}

// Forced tokens must be those into which the tokenizer would cut the text. The tokens here are the
// bytes, "ab" and "abc".
class ForcedTest : public LanguageTest {
 protected:
  static constexpr int32_t kAb = 256, kAbc = 257;

  ForcedTest() {
    tokenizer_ = Tokenizer::from_vocab(bpe_vocab({"a b", "ab c"}));
    limits_ = {tokenizer_.get(), 258, 100};
  }
  static std::vector<float> logits_for(int32_t token) {
    std::vector<float> logits(258);
    logits[static_cast<size_t>(token)] = 9;
    return logits;
  }
  // Returns the token sampled from the row, and the tokens that must come after it.
  std::vector<int32_t> tokens_of(RowLogits& row) {
    std::vector<int32_t> tokens;
    do {
      const Result result = take(row);
      EXPECT_EQ(result.index, count_++);
      EXPECT_EQ(result.computed_seconds, 3);
      text_ += result.text;
      if (result.has_token()) tokens.push_back(result.token);
      if (result.finish) finish_ = result.finish;
    } while (!finish_ && generation_->knows_next());
    return tokens;
  }
  std::vector<int32_t> tokens_of(int32_t likeliest) {
    MadeRow row(logits_for(likeliest));
    return tokens_of(row);
  }
  void begin(const Request& request) {
    start(request);
    generation_->computed_at(3);
    count_ = 0;
    text_.clear();
    finish_.reset();
  }

  using Tokens = std::vector<int32_t>;
  uint32_t count_ = 0;
  std::string text_;
  std::optional<Finish> finish_;
};

TEST_F(ForcedTest, TokensThatMustComeNeedNoLogits) {
  begin(in("(x|y)abcd(x|y)"));
  MadeRow row(logits_for('y'));
  EXPECT_EQ(tokens_of(row), (Tokens{'y', kAbc, 'd'})) << "and not a, b, c";
  EXPECT_EQ(row.asked, 1) << "for the y";
  EXPECT_EQ(generation_->tokens().size(), 4u);
  EXPECT_EQ(generation_->forced_count(), 2u);
  EXPECT_FALSE(finish_);
  EXPECT_EQ(tokens_of('x'), (Tokens{'x'}));
  EXPECT_EQ(finish_, Finish::kEndOfText);
  EXPECT_EQ(text_, "yabcdx");
}

TEST_F(ForcedTest, ATextMayBeginWithThemAndEndWithThem) {
  begin(in("abcd(x|y)ab"));
  MadeRow none(std::vector<float>(258, NAN));
  EXPECT_EQ(tokens_of(none), (Tokens{kAbc, 'd'}));
  EXPECT_EQ(tokens_of('x'), (Tokens{'x', kAb}));
  EXPECT_EQ(finish_, Finish::kEndOfText);
  EXPECT_EQ(text_, "abcdxab");
}

TEST_F(ForcedTest, ForcedTokensWaitWhereALongerTokenMayFollow) {
  begin(in("(x|y)ab(c|d)"));
  EXPECT_EQ(tokens_of('x'), Tokens{'x'}) << "abc may come, and abd";
  EXPECT_EQ(tokens_of(kAbc), Tokens{kAbc});
  EXPECT_EQ(finish_, Finish::kEndOfText);
}

TEST_F(ForcedTest, PartOfACharacterMayHaveToCome) {
  begin(in("(x|y)[\u00e8\u00e9]ab"));
  EXPECT_EQ(tokens_of('x'), (Tokens{'x', 0xc3}));
  EXPECT_EQ(tokens_of(0xa9), (Tokens{0xa9, kAb}));
  EXPECT_EQ(finish_, Finish::kEndOfText);
  EXPECT_EQ(text_,
            "x\u00e9"
            "ab");
}

TEST_F(ForcedTest, TheyTakeNoRandomNumber) {
  std::mt19937 random(4);
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Request request = in("((x|y|z)abcd){4}");
    request.sampling.seed = seed;
    request.sampling.temperature = 1;
    request.sampling.top_k = seed % 2 == 0 ? 0 : 20;
    request.sampling.top_p = seed % 3 == 0 ? 1.0f : 0.95f;
    std::vector<float> logits(258);
    for (float& logit : logits) logit = static_cast<float>(random() % 100) * 0.02f;
    Sampler sampler(request.sampling);
    std::vector<uint64_t> mask(5);
    for (int32_t token : {'x', 'y', 'z'}) set_bit(std::span(mask), token);
    begin(request);
    MadeRow row(logits);
    while (!finish_) {
      std::optional<int32_t> drawn;
      if (sampler.draws_from_all(logits.size())) drawn = sampler.sample(logits);
      if (!drawn || !has_bit(mask, *drawn)) drawn = sampler.sample(logits, mask);
      ASSERT_EQ(tokens_of(row), (Tokens{*drawn, kAbc, 'd'})) << seed;
    }
    EXPECT_EQ(count_, 12u);
  }
}

TEST_F(ForcedTest, EveryEndHoldsInTheirMiddle) {
  const Request whole = in("(x|y)abcdefgh(x|y)");
  Request request = whole;
  request.max_tokens = 3;
  begin(request);
  EXPECT_EQ(tokens_of('x'), (Tokens{'x', kAbc, 'd'}));
  EXPECT_EQ(finish_, Finish::kLength);

  limits_.context = 4;
  begin(whole);
  EXPECT_EQ(tokens_of('x'), (Tokens{'x', kAbc, 'd', 'e'})) << "the prompt has one";
  EXPECT_EQ(finish_, Finish::kContext);
  limits_.context = 100;

  request = whole;
  request.stops = {"de"};
  begin(request);
  EXPECT_EQ(tokens_of('x'), (Tokens{'x', kAbc, 'd', 'e'}));
  EXPECT_EQ(finish_, Finish::kStopString);
  EXPECT_EQ(text_, "xabc");

  request = whole;
  request.stop_tokens = {'f'};
  begin(request);
  EXPECT_EQ(tokens_of('x'), (Tokens{'x', kAbc, 'd', 'e', 'f'}));
  EXPECT_EQ(finish_, Finish::kEndOfText);
  EXPECT_EQ(text_, "xabcde");
}

TEST_F(ForcedTest, LogprobsTurnForcedTokensOff) {
  for (uint32_t top : {0u, 2u}) {
    Request request = in("(x|y)abcd");
    request.logprobs = top == 0;
    request.top_logprobs = top;
    begin(request);
    EXPECT_EQ(tokens_of('x'), Tokens{'x'});
    const Result result = take(logits_for('a'));
    EXPECT_EQ(result.token, 'a') << "it is sampled";
    EXPECT_LT(result.logprob, 0);
    EXPECT_EQ(result.top_logprobs.size(), top);
  }
}

TEST_F(ForcedTest, DoesNotForceForbiddenTokens) {
  const Request whole = in("(x|y)dabcd");
  Request biased = whole, allowed = whole, late = whole;
  biased.sampling.logit_bias = {{kAbc, -INFINITY}, {'d', 2.0f}};
  allowed.sampling.allowed = {'a', 'b', 'c', 'd', 'x', kAb};
  late.sampling.late = {kAbc};
  late.sampling.min_tokens = 3;
  for (const Request& request : {biased, allowed, late}) {
    begin(request);
    EXPECT_EQ(tokens_of('x'), (Tokens{'x', 'd'}));
    EXPECT_EQ(tokens_of(kAb), (Tokens{kAb, 'c', 'd'}));
    EXPECT_EQ(finish_, Finish::kEndOfText);
    EXPECT_EQ(text_, "xdabcd");
  }
  late.sampling.min_tokens = 2;
  begin(late);
  EXPECT_EQ(tokens_of('x'), (Tokens{'x', 'd', kAbc, 'd'})) << "two tokens came before it";
}

TEST_F(ForcedTest, PenaltiesKnowThem) {
  Request request = in("(x|y)abcd(z|d)");
  request.sampling.presence_penalty = 5;
  begin(request);
  EXPECT_EQ(tokens_of('y'), (Tokens{'y', kAbc, 'd'}));
  std::vector<float> logits(258);
  logits['d'] = 9;
  logits['z'] = 6;
  MadeRow row(logits);
  EXPECT_EQ(tokens_of(row), Tokens{'z'}) << "d has come, and is 4 now";
}

TEST_F(ForcedTest, RunsMayBeLongerThanWhatIsLookedAtAtOnce) {
  limits_.context = 1000;
  begin(in("(x|y)" + std::string(3 * Matcher::kMaxForcedBytes, 'q') + "(x|y)"));
  EXPECT_EQ(tokens_of('x').size(), 1 + 3 * Matcher::kMaxForcedBytes);
  EXPECT_FALSE(finish_);
  EXPECT_EQ(tokens_of('y'), Tokens{'y'});
  EXPECT_EQ(finish_, Finish::kEndOfText);
}

TEST_F(LanguageTest, EveryChoiceHasItsOwn) {
  Request request = in("ab*c");
  request.choices = 2;
  auto job = std::make_shared<Job>(1, request, stream_);
  Generation first(job, 0, 0), second(job, 1, 0);
  EXPECT_TRUE(stream_->reserve(4));
  MadeRow a(for_token('a')), b(for_token('b')), c(for_token('c'));
  EXPECT_EQ(first.take_token(a, limits_), std::nullopt);
  EXPECT_EQ(second.take_token(b, limits_), std::nullopt);
  EXPECT_EQ(first.take_token(c, limits_), Finish::kEndOfText);
  EXPECT_EQ(second.take_token(b, limits_), std::nullopt);
  std::string texts[2];
  while (std::optional<Result> result = stream_->try_pop()) texts[result->choice] += result->text;
  EXPECT_EQ(texts[0], "ac");
  EXPECT_EQ(texts[1], "ab");
}

}  // namespace
}  // namespace hearth
