#include "grammar/matcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/error.h"
#include "grammar/byte_vocabulary.h"
#include "grammar/gbnf.h"
#include "grammar/regex_parser.h"
#include "grammar/schema.h"
#include "grammar/test_grammars.h"
#include "grammar/token_mask.h"

namespace hearth {
namespace {

#ifdef HEARTH_FEW_ROUNDS
constexpr uint32_t kGrammars = 40;
#else
constexpr uint32_t kGrammars = 400;
#endif
constexpr size_t kLongestText = 6;

// Returns tokens for all texts of one to three letters "a" or "b" and for some other texts, and
// tokens of every role.
std::vector<VocabularyToken> test_tokens() {
  std::vector<VocabularyToken> tokens;
  std::vector<std::string> texts{""};
  for (size_t i = 0; i < texts.size(); ++i) {
    if (i > 0) tokens.push_back({.bytes = texts[i]});
    if (texts[i].size() == 3) continue;
    for (char c : {'a', 'b'}) texts.push_back(texts[i] + c);
  }
  for (const char* text : {"ab", "c", "aac", "<", "<x>", ""}) tokens.push_back({.bytes = text});
  tokens.push_back({.role = TokenRole::kEnd});
  tokens.push_back({.role = TokenRole::kControl});
  tokens.push_back({.role = TokenRole::kUnused});
  tokens.push_back({.role = TokenRole::kEnd});
  return tokens;
}

std::shared_ptr<const VocabularyTrie> test_vocabulary() {
  return std::make_shared<const VocabularyTrie>(test_tokens());
}

std::vector<int32_t> allowed_tokens(Matcher& matcher) {
  std::vector<uint64_t> bits(matcher.vocabulary().mask_words() + 1, ~uint64_t{0});
  matcher.mask(bits);
  std::vector<int32_t> tokens;
  for (int32_t token = 0; token < static_cast<int32_t>(64 * bits.size()); ++token) {
    if (has_bit(bits, token)) tokens.push_back(token);
  }
  return tokens;
}

bool takes_text(Matcher& matcher, std::string_view text) {
  for (char c : text) {
    if (!matcher.accept(static_cast<uint8_t>(c))) return false;
  }
  return true;
}

std::shared_ptr<const Grammar> try_build(TestGrammar& grammar) {
  try {
    return grammar.build();
  } catch (const Error&) {
    return nullptr;
  }
}

TEST(MatcherTest, TextsAreThoseOfTheGrammar) {
  auto vocabulary = single_byte_vocabulary();
  uint32_t built = 0;
  for (uint32_t seed = 0; seed < kGrammars; ++seed) {
    TestGrammar grammar(seed, kLongestText + 2);
    std::set<std::string> beginnings;
    for (const std::string& text : grammar.texts()) {
      for (size_t size = 0; size <= text.size(); ++size) beginnings.insert(text.substr(0, size));
    }
    std::shared_ptr<const Grammar> made = try_build(grammar);
    if (made == nullptr) {
      ASSERT_TRUE(grammar.texts().empty()) << seed;
      continue;
    }
    ++built;
    Matcher start(made, vocabulary);
    std::vector<std::string> texts{""};
    for (size_t i = 0; i < texts.size(); ++i) {
      Matcher matcher = start;
      bool viable = takes_text(matcher, texts[i]);
      ASSERT_TRUE(viable || beginnings.count(texts[i]) == 0) << seed << " " << texts[i];
      if (!viable) continue;
      ASSERT_EQ(matcher.may_end(), grammar.texts().count(texts[i]) == 1) << seed << " " << texts[i];
      if (texts[i].size() == kLongestText) continue;
      for (char c : {'a', 'b'}) texts.push_back(texts[i] + c);
    }
  }
  EXPECT_GT(built, kGrammars / 2);
}

// Compares the mask with allows() for every token, here and after each allowed token.
void check_masks(Matcher& matcher, const std::shared_ptr<const Grammar>& grammar,
                 const std::shared_ptr<const VocabularyTrie>& vocabulary,
                 std::vector<int32_t>* path, int* left) {
  std::vector<int32_t> allowed = allowed_tokens(matcher), expected;
  Matcher replayed(grammar, vocabulary);
  ASSERT_EQ(replayed.validate(*path), path->size());
  for (int32_t token : *path) ASSERT_TRUE(replayed.accept(token));
  EXPECT_EQ(replayed.may_end(), matcher.may_end());
  EXPECT_EQ(replayed.must_end(), matcher.must_end());
  for (int32_t token = 0; token < static_cast<int32_t>(vocabulary->size()); ++token) {
    Matcher fresh = replayed;
    if (fresh.accept(token)) expected.push_back(token);
  }
  ASSERT_EQ(allowed, expected);
  ASSERT_TRUE(!allowed.empty() || matcher.ended());
  for (int32_t token : allowed) {
    if (--*left < 0 || path->size() == 4) return;
    Matcher before = matcher;
    ASSERT_TRUE(matcher.accept(token));
    path->push_back(token);
    check_masks(matcher, grammar, vocabulary, path, left);
    path->pop_back();
    matcher.rollback(1);
    EXPECT_EQ(allowed_tokens(matcher), allowed);
    EXPECT_EQ(allowed_tokens(before), allowed);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(MatcherTest, MasksAreTheTokensThatAreAccepted) {
  auto vocabulary = test_vocabulary();
  for (uint32_t seed = 0; seed < kGrammars; ++seed) {
    TestGrammar grammar(seed, 1);
    std::shared_ptr<const Grammar> made = try_build(grammar);
    if (made == nullptr) continue;
    Matcher matcher(made, vocabulary);
    std::vector<int32_t> path;
    int left = 40;
    check_masks(matcher, made, vocabulary, &path, &left);
    ASSERT_FALSE(HasFatalFailure()) << seed;
  }
}

TEST(MatcherTest, MasksOfTextAreTheTokensThatAreAccepted) {
  std::vector<VocabularyToken> tokens = test_tokens();
  for (const char* text :
       {"\"", "b\"", "\",", "\\", "\\n", "\xc3", "\xa4", "\xc3\xa4", "\xc3\xa4x",
        "aaaaaaaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbb", "1", "12", " ", "  ", "\n", "x", ">", "z"}) {
    tokens.push_back({.bytes = text});
  }
  auto vocabulary = std::make_shared<const VocabularyTrie>(tokens);
  for (const char* pattern :
       {"\"([^\"\\\\\\x00-\\x1f]|\\\\[\"n])*\"", "\"[^\"]{0,20}\"", "\"[^\"]{3,600}\"",
        "\"[a-z]{2,}\"", "[a-c]{0,30}|\"[^<]*\"", "\"[ab]{1,5}\"", "\"[^a]{0,7}\"x?",
        "\"(b|\\\\z){0,9}\"", "(a[^<]*<x>|b.{0,9}1)", "([ab]{2}|c){0,700}", "([^a]|a[^a])*"}) {
    std::shared_ptr<const Grammar> grammar = pattern_grammar(pattern);
    Matcher matcher(grammar, vocabulary);
    std::vector<int32_t> path;
    int left = 200;
    check_masks(matcher, grammar, vocabulary, &path, &left);
    ASSERT_FALSE(HasFatalFailure()) << pattern;
  }
}

TEST(MatcherTest, MasksOfNamesWithoutSomeAreTheTokensThatAreAccepted) {
  std::vector<VocabularyToken> tokens = test_tokens();
  for (const char* text : {"\"", "b\"", "aa\"", "ab\":", ":", ">", "x"})
    tokens.push_back({.bytes = text});
  auto vocabulary = std::make_shared<const VocabularyTrie>(tokens);
  for (const char* taken : {"a|b|aab|bb", "a[^]*", "[ab]{0,3}"}) {
    GrammarBuilder builder;
    RegexSet& set = builder.regexes();
    RegexId quote = set.literal("\"");
    RegexId name = parse_pattern(set, "[^\"]*", {.search = false});
    RegexId other = set.complement(parse_pattern(set, taken, {.search = false}));
    auto grammar =
        builder.build(builder.terminal(set.concat({quote, set.all_of({name, other}), quote})));
    Matcher matcher(grammar, vocabulary);
    std::vector<int32_t> path;
    int left = 200;
    check_masks(matcher, grammar, vocabulary, &path, &left);
    ASSERT_FALSE(HasFatalFailure()) << taken;
  }
}

TEST(MatcherTest, RandomWalksEnd) {
  std::mt19937 random(5);
  auto vocabulary = test_vocabulary();
  for (uint32_t seed = 0; seed < kGrammars; ++seed) {
    TestGrammar grammar(seed, 8);
    std::shared_ptr<const Grammar> made = try_build(grammar);
    if (made == nullptr) continue;
    Matcher matcher(made, vocabulary);
    std::string text;
    for (int step = 0; step < 30 && !matcher.ended(); ++step) {
      std::vector<int32_t> allowed = allowed_tokens(matcher);
      ASSERT_FALSE(allowed.empty()) << seed;
      int32_t token = allowed[random() % allowed.size()];
      ASSERT_TRUE(matcher.accept(token));
      text += vocabulary->bytes(token);
    }
    if (matcher.ended() && text.size() <= 8) {
      EXPECT_EQ(grammar.texts().count(text), 1) << seed << " " << text;
    }
  }
}

// Fourteen names, each of which may come once: a beginning that leads only to names that came
// already is not allowed.
TEST(MatcherTest, ANameIsBegunOnlyWhereItCanBeAnother) {
  std::vector<VocabularyToken> tokens = single_byte_tokens();
  for (const char* text : {"ab", "aa", "bab", "{\"", "{\"a", "\":", "b\":", "bb\": ", ", \"",
                           ",\"a", "null,", "null, \"b", "null}", "\":null,\"ab", "\\u00", "ab"}) {
    tokens.push_back({.bytes = text});
  }
  auto vocabulary = std::make_shared<const VocabularyTrie>(tokens);
  const auto grammar =
      compile_schema(R"({"type": "object", "additionalProperties": {"type": "null"},
                         "propertyNames": {"pattern": "^[ab]{1,3}$"}, "minProperties": 14})",
                     {.cpu_seconds = 60})
          .grammar;
  std::mt19937 random(6);
  for (int walk = 0; walk < 20; ++walk) {
    Matcher matcher(grammar, vocabulary);
    std::string text;
    while (!matcher.ended()) {
      const std::vector<int32_t> allowed = allowed_tokens(matcher);
      ASSERT_FALSE(allowed.empty()) << text;
      std::vector<int32_t> accepted;
      for (int32_t token = 0; token < static_cast<int32_t>(tokens.size()); ++token) {
        Matcher copy = matcher;
        if (copy.accept(token)) accepted.push_back(token);
        ASSERT_EQ(matcher.allows(token), matcher.validate({&token, 1}) == 1) << text << token;
      }
      ASSERT_EQ(allowed, accepted) << text;
      const int32_t token = allowed[random() % allowed.size()];
      ASSERT_TRUE(matcher.accept(token));
      text += vocabulary->bytes(token);
    }
    EXPECT_EQ(std::ranges::count(text, ':'), 14) << text;
  }
}

TEST(MatcherTest, ControlTokensMatchOnlyWhereTheyAreNamed) {
  std::vector<VocabularyToken> tokens = test_tokens();
  auto end = static_cast<int32_t>(tokens.size()) - 4, control = end + 1, unused = end + 2;
  auto vocabulary = std::make_shared<const VocabularyTrie>(tokens);
  GrammarBuilder builder;
  Symbol text = builder.terminal(builder.regexes().everything());
  Symbol start = builder.rule("start");
  std::vector<int32_t> ids{control};
  builder.add(start, {text, builder.control(ids), text});
  Matcher matcher(builder.build(start), vocabulary);
  EXPECT_FALSE(matcher.allows(end));
  EXPECT_FALSE(matcher.allows(unused));
  EXPECT_FALSE(matcher.allows(-1));
  EXPECT_FALSE(matcher.allows(static_cast<int32_t>(tokens.size())));
  ASSERT_TRUE(matcher.accept(0));
  EXPECT_FALSE(matcher.may_end());
  ASSERT_TRUE(matcher.accept(control));
  EXPECT_FALSE(matcher.allows(control));
  ASSERT_TRUE(matcher.accept(0));
  EXPECT_TRUE(matcher.may_end());
  EXPECT_FALSE(matcher.must_end());
  ASSERT_TRUE(matcher.accept(end));
  EXPECT_TRUE(matcher.ended());
  EXPECT_TRUE(allowed_tokens(matcher).empty());
  matcher.rollback(1);
  EXPECT_FALSE(matcher.ended());
}

TEST(MatcherTest, ForcedBytesAreThoseWithoutAChoice) {
  auto vocabulary = single_byte_vocabulary();
  Matcher matcher(pattern_grammar("\\{\"name\": \"(Ann|Andy)\"\\}"), vocabulary);
  EXPECT_EQ(matcher.forced(), "{\"name\": \"An");
  ASSERT_TRUE(takes_text(matcher, "{\"name\": \"Ann"));
  EXPECT_EQ(matcher.forced(), "\"}");
  ASSERT_TRUE(takes_text(matcher, "\"}"));
  EXPECT_TRUE(matcher.must_end());
  EXPECT_EQ(matcher.forced(), "");
}

TEST(MatcherTest, ANumberMayEndWhereverItIsOne) {
  auto vocabulary = single_byte_vocabulary();
  Matcher matcher(pattern_grammar("-?(0|[1-9]\\d*)(\\.\\d+)?([eE][+-]?\\d+)?"), vocabulary);
  EXPECT_FALSE(matcher.may_end());
  ASSERT_TRUE(takes_text(matcher, "-12"));
  EXPECT_TRUE(matcher.may_end());
  ASSERT_TRUE(takes_text(matcher, ".5e"));
  EXPECT_FALSE(matcher.may_end());
  ASSERT_TRUE(takes_text(matcher, "7"));
  EXPECT_TRUE(matcher.may_end());
}

// Accepts texts of 100,000 items, by each way to write a list.
TEST(MatcherTest, LongListsCostNeitherMemoryNorTime) {
  enum class Way { kRepeated, kCounted, kRight, kLeft };
  auto vocabulary = single_byte_vocabulary();
  for (Way way : {Way::kRepeated, Way::kCounted, Way::kRight, Way::kLeft}) {
    GrammarBuilder builder;
    Symbol item = builder.terminal(
        parse_pattern(builder.regexes(), "[1-9][0-9]*|\"[^\"]*\"", {.search = false}));
    Symbol comma = builder.terminal(builder.regexes().literal(","));
    Symbol list = builder.rule("list");
    if (way == Way::kRepeated) builder.add(list, {builder.repeated(item, comma, 3, kNoLimit)});
    if (way == Way::kCounted) builder.add(list, {builder.repeated(item, comma, 3, 100'000)});
    if (way == Way::kRight) builder.add(list, {item, comma, list});
    if (way == Way::kLeft) builder.add(list, {list, comma, item});
    builder.add(list, {item});
    Matcher matcher(builder.build(list), vocabulary);
    for (int i = 0; i < 99'999; ++i) {
      ASSERT_TRUE(takes_text(matcher, i % 2 == 0 ? "12," : "\"a\",")) << i;
    }
    ASSERT_TRUE(takes_text(matcher, "7"));
    EXPECT_TRUE(matcher.may_end());
    EXPECT_EQ(matcher.accept(','), way != Way::kCounted);
    EXPECT_LT(matcher.memory(), size_t{14} << 20);
    matcher.rollback(200);
    EXPECT_TRUE(takes_text(matcher, "1"));
  }
}

TEST(MatcherTest, DeepNestingEndsInAnErrorAtMost) {
  GrammarBuilder builder;
  Symbol open = builder.terminal(builder.regexes().literal("["));
  Symbol close = builder.terminal(builder.regexes().literal("]"));
  Symbol comma = builder.terminal(builder.regexes().literal(","));
  Symbol array = builder.rule("array");
  builder.add(array, {open, builder.repeated(array, comma, 0, kNoLimit), close});
  Matcher matcher(builder.build(array), single_byte_vocabulary());
  ASSERT_TRUE(takes_text(matcher, std::string(1000, '[') + std::string(999, ']')));
  EXPECT_FALSE(matcher.may_end());
  ASSERT_TRUE(matcher.accept(']'));
  EXPECT_TRUE(matcher.must_end());
  matcher.rollback(2000);
  std::string what = "nothing";
  try {
    takes_text(matcher, std::string(1'000'000, '['));
  } catch (const Error& error) {
    what = error.what();
  }
  EXPECT_NE(what.find("MiB for this text"), std::string::npos) << what;
}

TEST(MatcherTest, ALexerOfTooManyStatesIsAnError) {
  Matcher matcher(pattern_grammar("[ab]*a([ab]{3}c|[ab]{40}d)"), single_byte_vocabulary());
  std::mt19937 random(7);
  EXPECT_THROW(
      {
        for (int i = 0; i < 1'000'000; ++i) ASSERT_TRUE(matcher.accept(random() % 2 ? 'a' : 'b'));
      },
      Error);
}

TEST(MatcherTest, LeavesOutTextsThatTheVocabularyCannotSpell) {
  std::vector<VocabularyToken> tokens;
  for (char c : {'a', 'b', '{'}) tokens.push_back({.bytes = {c}});
  VocabularyTrie vocabulary(tokens);
  EXPECT_TRUE(vocabulary.single_bytes().test('{'));
  EXPECT_FALSE(vocabulary.single_bytes().test('}'));
  GrammarBuilder builder;
  RegexSet& set = builder.regexes();
  set.restrict_to(vocabulary.single_bytes());
  RegexId either = set.any_of({set.literal("{a}"), set.literal("ab")});
  Matcher matcher(builder.build(builder.terminal(either)),
                  std::make_shared<const VocabularyTrie>(tokens));
  EXPECT_EQ(allowed_tokens(matcher), std::vector<int32_t>{0});
  GrammarBuilder other;
  other.regexes().restrict_to(vocabulary.single_bytes());
  EXPECT_THROW(other.build(other.terminal(other.regexes().literal("{a}"))), Error);
}

TEST(MatcherTest, ThreadsShareAGrammar) {
  auto grammar = gbnf_grammar(
      "root ::= \"[\" (item (\",\" item)*)? \"]\"\n"
      "item ::= [ab]{1,40} | root | \"'\" [^']* \"'\"");
  auto vocabulary = single_byte_vocabulary();
  std::vector<std::vector<int32_t>> found(4);
  std::vector<std::thread> threads;
  for (std::vector<int32_t>& own : found) {
    threads.emplace_back([&] {
      Matcher matcher(grammar, vocabulary);
      for (char c : std::string_view("[ab,[[bbb,'x\xc3\xa4'],aaaaaaa],'',b]")) {
        for (int32_t token : allowed_tokens(matcher)) own.push_back(token);
        if (!matcher.accept(static_cast<uint8_t>(c))) own.clear();
      }
      own.push_back(matcher.must_end() ? 1 : 0);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<int32_t>& own : found) EXPECT_EQ(own, found[0]);
  EXPECT_GT(found[0].size(), 100);
  EXPECT_EQ(found[0].back(), 1);
}

TEST(GrammarBuilderTest, AGrammarWithoutTextsIsRefused) {
  GrammarBuilder builder;
  Symbol loop = builder.rule("loop");
  builder.add(loop, {builder.terminal(builder.regexes().literal("a")), loop});
  EXPECT_THROW(builder.build(loop), Error);
}

}  // namespace
}  // namespace hearth
