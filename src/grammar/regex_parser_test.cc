#include "grammar/regex_parser.h"

#include <gtest/gtest.h>

#include <random>
#include <regex>
#include <string>

#include "base/error.h"

namespace hearth {
namespace {

bool pattern_matches(std::string_view pattern, std::string_view text, bool search = true) {
  RegexSet set;
  return set.matches(parse_pattern(set, pattern, {.search = search}), text);
}

std::string pattern_error(std::string_view pattern) {
  RegexSet set;
  try {
    parse_pattern(set, pattern);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(RegexParserTest, AgreesWithTheStandardLibraryOnRandomPatterns) {
  std::mt19937 random(2);
  const std::string_view pieces[] = {"a",  "b",     "[ab]",  "[^a]",   ".",      "(a|b)", "(?:ab)",
                                     "a*", "b+",    "(ab)?", "a{2}",   "b{1,2}", "^",     "$",
                                     "|",  "(b*)*", "\\w",   "[a-c]?", "\\d"};
  for (int round = 0; round < 400; ++round) {
    std::string pattern;
    for (uint32_t i = 0, n = 1 + random() % 5; i < n; ++i) {
      pattern += pieces[random() % std::size(pieces)];
    }
    std::regex expected(pattern, std::regex::ECMAScript);
    RegexSet set;
    RegexId regex = parse_pattern(set, pattern);
    for (int t = 0; t < 30; ++t) {
      std::string text;
      for (uint32_t i = 0, n = random() % 6; i < n; ++i) text += "abc1"[random() % 4];
      ASSERT_EQ(set.matches(regex, text), std::regex_search(text, expected))
          << pattern << " on " << text;
    }
  }
}

TEST(RegexParserTest, AnchorsBindWhereTheyStand) {
  EXPECT_TRUE(pattern_matches("^a|b$", "axx"));
  EXPECT_TRUE(pattern_matches("^a|b$", "xxb"));
  EXPECT_FALSE(pattern_matches("^a|b$", "xax"));
  EXPECT_TRUE(pattern_matches("(^|,)x(,|$)", "a,x"));
  EXPECT_FALSE(pattern_matches("(^|,)x(,|$)", "ax"));
  EXPECT_FALSE(pattern_matches("a^b", "ab"));
  EXPECT_TRUE(pattern_matches("^$", ""));
  EXPECT_FALSE(pattern_matches("^$", "a"));
  EXPECT_TRUE(pattern_matches("b", "abc"));
  EXPECT_FALSE(pattern_matches("b", "abc", false));
}

TEST(RegexParserTest, CharactersAreCodePoints) {
  EXPECT_TRUE(pattern_matches("^.$", "\xf0\x9f\x98\x80"));
  EXPECT_FALSE(pattern_matches("^.$", "\n"));
  EXPECT_TRUE(pattern_matches("^[\\u{1F600}-\\u{1F64F}]{2}$", "\xf0\x9f\x98\x80\xf0\x9f\x99\x8f"));
  EXPECT_TRUE(pattern_matches("^\\uD83D\\uDE00$", "\xf0\x9f\x98\x80"));
  EXPECT_TRUE(pattern_matches("^\\p{Lu}\\p{Letter}+$", "\xc3\x84h"));
  EXPECT_FALSE(pattern_matches("^\\p{Lu}$", "\xc3\xa4"));
  EXPECT_TRUE(pattern_matches("^[^\\p{L}]$", "1"));
  EXPECT_TRUE(pattern_matches("^\\s$", "\xe2\x80\xa8"));
  EXPECT_FALSE(pattern_matches("^[^a]$", "\xff"));
  EXPECT_TRUE(pattern_matches("^[\\w-.]+$", "a-."));
  EXPECT_TRUE(pattern_matches("^\\cJ\\x41\\/\\-$", "\nA/-"));
}

TEST(RegexParserTest, EveryCodePointRangeIsItsUtf8) {
  std::mt19937 random(3);
  auto any = [&] {
    return static_cast<char32_t>(random() % (random() % 3 == 0 ? 0x110000 : 0x900));
  };
  for (int round = 0; round < 60; ++round) {
    char32_t a = any(), b = any();
    CodePoints points{{std::min(a, b), std::max(a, b)}};
    RegexSet set;
    RegexId inside = utf8_regex(set, points), outside = utf8_regex(set, points.complement());
    EXPECT_TRUE(set.disjoint(inside, outside));
    RegexId both = set.any_of({inside, outside}), all = utf8_regex(set, CodePoints::all());
    EXPECT_TRUE(set.contains(both, all) && set.contains(all, both));
  }
}

TEST(RegexParserTest, NamesUnsupportedSyntax) {
  EXPECT_NE(pattern_error("(?=x)").find("lookahead"), std::string::npos);
  EXPECT_NE(pattern_error("(?<=x)*").find("lookbehind"), std::string::npos);
  EXPECT_NE(pattern_error("(a)\\1").find("back reference"), std::string::npos);
  EXPECT_NE(pattern_error("\\bx").find("word boundary"), std::string::npos);
  EXPECT_NE(pattern_error("\\p{Script=Greek}").find("general categories"), std::string::npos);
  for (const char* broken : {"(", ")", "[a", "a{2,1}", "*a", "a**", "{", "[b-a]", "\\", "(?<1>a",
                             "\\u{110000}", "x{1000001}", "\\q", "(^a)*", "\xff"}) {
    EXPECT_NE(pattern_error(broken), "") << broken;
  }
  EXPECT_NE(pattern_error(std::string(100'000, '(')), "");
  EXPECT_NE(pattern_error(std::string(100, '(')), "");
}

TEST(RegexParserTest, HostilePatternsAreFine) {
  EXPECT_TRUE(pattern_matches("(a*)*b", std::string(5000, 'a') + "b"));
  EXPECT_FALSE(pattern_matches("^(a{2000}){2000}$", "aaaa"));
  EXPECT_TRUE(pattern_matches("^((a?){100}){100}$", "aaaa"));
  std::string nested;
  for (int i = 0; i < 60; ++i) nested += "(";
  nested += "a";
  for (int i = 0; i < 60; ++i) nested += ")*";
  EXPECT_TRUE(pattern_matches("^" + nested + "$", "aaaa"));
}

TEST(RegexParserTest, ManyPatternsAtOnceAreFineOrRefused) {
  RegexSet set;
  std::vector<RegexId> patterns;
  for (int i = 0; i < 50; ++i) {
    patterns.push_back(parse_pattern(set, std::to_string(100 + i) + "x"));
  }
  EXPECT_FALSE(set.is_nothing(set.all_of(patterns)));
  patterns.push_back(parse_pattern(set, "^[^x]*$"));
  EXPECT_TRUE(set.is_nothing(set.all_of(patterns)));
  patterns.back() = parse_pattern(set, "^.{0,40}$");
  EXPECT_THROW(set.is_nothing(set.all_of(patterns)), Error);
}

}  // namespace
}  // namespace hearth
