#include "grammar/regex_set.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"

namespace hearth {
namespace {

// The test's own expression, matched by trying all ways.
struct Naive {
  enum class Kind { kByte, kAny, kConcat, kAnyOf, kAllOf, kNot, kRepeat } kind;
  char byte = 0;
  std::vector<Naive> parts = {};
  size_t least = 0, most = 0;
};

// Returns the ends of the matches within `text` that begin at `at`.
std::set<size_t> naive_ends(const Naive& regex, const std::string& text, size_t at) {
  std::set<size_t> ends;
  switch (regex.kind) {
    case Naive::Kind::kByte:
      if (at < text.size() && text[at] == regex.byte) ends.insert(at + 1);
      break;
    case Naive::Kind::kAny:
      if (at < text.size()) ends.insert(at + 1);
      break;
    case Naive::Kind::kConcat:
      ends.insert(at);
      for (const Naive& part : regex.parts) {
        std::set<size_t> next;
        for (size_t end : ends) next.merge(naive_ends(part, text, end));
        ends = next;
      }
      break;
    case Naive::Kind::kAnyOf:
      for (const Naive& part : regex.parts) ends.merge(naive_ends(part, text, at));
      break;
    case Naive::Kind::kAllOf:
    case Naive::Kind::kNot:
      for (size_t end = at; end <= text.size(); ++end) {
        size_t count = 0;
        for (const Naive& part : regex.parts) count += naive_ends(part, text, at).count(end);
        bool all = regex.kind == Naive::Kind::kNot ? count == 0 : count == regex.parts.size();
        if (all) ends.insert(end);
      }
      break;
    case Naive::Kind::kRepeat: {
      std::set<size_t> now{at};
      for (size_t times = 0; times <= regex.most && times <= regex.least + text.size(); ++times) {
        if (times >= regex.least) ends.insert(now.begin(), now.end());
        std::set<size_t> next;
        for (size_t end : now) next.merge(naive_ends(regex.parts[0], text, end));
        now = next;
      }
      break;
    }
  }
  return ends;
}

RegexId naive_regex(RegexSet& set, const Naive& regex) {
  std::vector<RegexId> parts;
  for (const Naive& part : regex.parts) parts.push_back(naive_regex(set, part));
  switch (regex.kind) {
    case Naive::Kind::kByte:
      return set.literal(std::string_view(&regex.byte, 1));
    case Naive::Kind::kAny:
      return set.bytes(all_bytes());
    case Naive::Kind::kConcat:
      return set.concat(parts);
    case Naive::Kind::kAnyOf:
      return set.any_of(parts);
    case Naive::Kind::kAllOf:
      return set.all_of(parts);
    case Naive::Kind::kNot:
      return set.complement(parts[0]);
    case Naive::Kind::kRepeat:
      return set.repeat(parts[0], regex.least, regex.most > 100 ? kNoLimit : regex.most);
  }
  return set.nothing();
}

Naive random_naive(std::mt19937& random, int depth) {
  auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  if (depth == 0 || below(5) == 0) {
    if (below(6) == 0) return {Naive::Kind::kAny};
    return {Naive::Kind::kByte, static_cast<char>('a' + below(2))};
  }
  Naive regex{static_cast<Naive::Kind>(2 + below(5))};
  size_t parts = regex.kind >= Naive::Kind::kNot ? 1 : 1 + below(3);
  for (size_t i = 0; i < parts; ++i) regex.parts.push_back(random_naive(random, depth - 1));
  regex.least = below(4);
  regex.most = below(3) == 0 ? 1000 : regex.least + below(3);
  return regex;
}

std::vector<std::string> all_texts(size_t longest) {
  std::vector<std::string> texts{""};
  for (size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].size() == longest) break;
    for (char c : {'a', 'b'}) texts.push_back(texts[i] + c);
  }
  return texts;
}

TEST(RegexSetTest, MatchesAsTryingAllWaysDoes) {
  std::mt19937 random(1);
  std::vector<std::string> texts = all_texts(6);
  for (int round = 0; round < 1500; ++round) {
    Naive naive = random_naive(random, 1 + round % 4);
    RegexSet set;
    RegexId regex = naive_regex(set, naive);
    bool some = false;
    for (const std::string& text : texts) {
      bool expected = naive_ends(naive, text, 0).count(text.size()) == 1;
      some = some || expected;
      ASSERT_EQ(set.matches(regex, text), expected) << round << " " << text;
    }
    if (some) {
      ASSERT_FALSE(set.is_nothing(regex)) << round;
    }
  }
}

TEST(RegexSetTest, FindsExpressionsThatMatchNothing) {
  RegexSet set;
  RegexId a = set.literal("a"), b = set.literal("b");
  RegexId many_a = set.repeat(a, 3, kNoLimit);
  EXPECT_TRUE(set.is_nothing(set.all_of({many_a, set.repeat(b, 0, kNoLimit)})));
  EXPECT_FALSE(set.is_nothing(set.all_of({many_a, set.repeat(a, 0, 3)})));
  EXPECT_TRUE(set.is_nothing(set.all_of({many_a, set.repeat(a, 0, 2)})));
  EXPECT_TRUE(set.contains(set.repeat(a, 2, 9), set.repeat(a, 3, 5)));
  EXPECT_FALSE(set.contains(set.repeat(a, 3, 5), set.repeat(a, 2, 9)));
  EXPECT_TRUE(set.disjoint(set.literal("abc"), set.literal("abd")));
  EXPECT_TRUE(set.is_nothing(set.repeat(a, 3, 2)));
  EXPECT_TRUE(set.is_at_end(set.all_of({set.optional(a), set.optional(b)})));
}

TEST(RegexSetTest, CountersAreNotCopied) {
  RegexSet set;
  RegexId inner = set.repeat(set.literal("a"), 2000, 2000);
  RegexId nested = set.repeat(inner, 2000, 2000);
  for (int i = 0; i < 3000; ++i) nested = set.derive(nested, 'a');
  EXPECT_FALSE(set.is_nothing(nested));
  EXPECT_LT(set.memory(), size_t{8} << 20);
}

TEST(RegexSetTest, CountersOfOneThingBecomeOne) {
  RegexSet set;
  RegexId any = set.bytes(all_bytes());
  RegexId regex = set.concat({set.everything(), set.literal("a"), set.repeat(any, 0, 1000)});
  for (int i = 0; i < 500; ++i) regex = set.derive(regex, i % 3 == 0 ? 'a' : 'b');
  EXPECT_LT(set.memory(), size_t{1} << 20);
}

TEST(RegexSetTest, BytesThatCannotBeSpelledMatchNothing) {
  RegexSet set;
  RegexId either = set.any_of({set.literal("xy"), set.literal("xz")});
  ByteSet spellable = all_bytes();
  spellable.reset('y');
  set.restrict_to(spellable);
  EXPECT_FALSE(set.is_nothing(either));
  EXPECT_TRUE(set.is_nothing(set.literal("xy")));
  EXPECT_TRUE(set.is_nothing(set.derive(set.derive(either, 'x'), 'y')));
}

TEST(RegexSetTest, LimitsAreErrors) {
  RegexSet set;
  set.limit_work(100);
  RegexId regex = set.concat({set.everything(), set.literal("abc")});
  EXPECT_THROW(
      {
        for (int i = 0; i < 26; ++i) {
          for (int j = 0; j < 26; ++j) {
            regex = set.all_of({set.derive(regex, static_cast<uint8_t>('a' + i)),
                                set.repeat(set.literal("abcd"), i * 26 + j, kNoLimit)});
            regex = set.concat({set.everything(), set.complement(regex)});
          }
        }
      },
      Error);
}

}  // namespace
}  // namespace hearth
