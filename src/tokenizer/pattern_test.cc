#include "tokenizer/pattern.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tokenizer/pattern_spelling.h"

namespace hearth {
namespace {

// Returns the matches, joined by "|".
std::string found(std::string_view regex, std::string_view text, bool is_regex = true) {
  const Pattern pattern({std::string(regex), is_regex}, "tokenizer.json");
  MatchMemory memory;
  std::string joined;
  for (Pattern::Cursor at; pattern.next(text, &at, memory);) {
    joined += std::string(text.substr(at.begin, at.end - at.begin)) + "|";
  }
  return joined;
}

std::string error_of(std::string_view regex, std::string_view text, ErrorCode code) {
  try {
    found(regex, text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    return error.what();
  }
  return "no error";
}

TEST(Pattern, AnEmptyMatchIsNoneWhereTheLastOneEnded) {
  EXPECT_EQ(found("x*", "axxb"), "|xx||");
  EXPECT_EQ(found("(?=b)", "abab"), "||");
  EXPECT_EQ(found("", "a\u00e9"), "|||");
}

TEST(Pattern, TextIsLookedForAsItIs) {
  EXPECT_EQ(found("a.", "a.ab", false), "a.|");
  EXPECT_EQ(found("\u2581", "a\u2581\u2581", false), "\u2581|\u2581|");
}

TEST(Pattern, WhiteSpaceAndWordsAreUnicodes) {
  EXPECT_EQ(found(R"(\s+)", "a\u0085\u3000b\u180ec"), "\u0085\u3000|");
  EXPECT_EQ(found(R"([^\S\n]+)", "a \n\tb"), " |\t|");
  EXPECT_EQ(found(R"(\w+)", "e\u0301_1\u24b6 \u2082!"), "e\u0301_1\u24b6|");
  EXPECT_EQ(found(R"([^\w\s]+)", "a \u00b2!"), "\u00b2!|");
  EXPECT_EQ(found(R"(\w[\w])", "\u00b2\u00b2\u00b2a"), "\u00b2a|");
  EXPECT_EQ(found(R"([\W_]+)", "a_!b"), "_!|");
  EXPECT_EQ(found(R"(\bab\b)", "ab abc ab\u0301 ab"), "ab|ab|");
  EXPECT_EQ(found(R"(\Bb)", "ab b"), "b|");
}

TEST(Pattern, ClassesLieInEachOtherAndMeet) {
  EXPECT_EQ(found("[a[cd]]+", "abcd["), "a|cd|");
  EXPECT_EQ(found("[a-z&&[^aeiou]]+", "hello"), "h|ll|");
  EXPECT_EQ(found("[^a-z&&[^aeiou]]+", "hello1"), "e|o1|");
  EXPECT_EQ(found("[a-z&&[b-y]&&[^m]]+", "abmyz"), "b|y|");
  EXPECT_EQ(found("[]a]+", "a]b"), "a]|");
  EXPECT_EQ(found(R"([\]\[]+)", "a[]b"), "[]|");
  EXPECT_EQ(found(R"([\p{L}&&\p{Lu}[0-9]]+)", "aB1c"), "B|");
}

TEST(Pattern, AScriptHasNotWhatExtendsIt) {
  // U+3001 belongs to several scripts' extensions, but to no script.
  EXPECT_EQ(found(R"(\p{Han}+)", "\u4e2d\u3001\u6587"), "\u4e2d|\u6587|");
  EXPECT_EQ(found(R"(\p{^Han}+)", "\u4e2d\u3001"), "\u3001|");
}

TEST(Pattern, SetsHaveLongNames) {
  EXPECT_EQ(found("[[:punct:]]+", "a$\u00a8!"), "$\u00a8!|");
  EXPECT_EQ(found(R"([[:alpha:]_]+\p{Upper})", "ab_C"), "ab_C|");
  EXPECT_EQ(found(R"(\p{Letter}+)", "ab1"), "ab|");
  EXPECT_EQ(found(R"(\P{Uppercase_Letter})", "Aa"), "a|");
}

TEST(Pattern, QuantifiersAreRubys) {
  EXPECT_EQ(found("a{1,2}+", "aaaab"), "aaaa|");
  EXPECT_EQ(found("(?:ab){2}+c?", "ababababc"), "ababababc|");
  EXPECT_EQ(found("a{,2}b", "b aab aaab"), "b|aab|aab|");
  EXPECT_EQ(found("a{x}", "a{x}"), "a{x}|");
  EXPECT_EQ(found("a++ab?", "aaab"), "");
}

TEST(Pattern, LinesAndPointsAreRubys) {
  EXPECT_EQ(found("a$", "a\na"), "a|a|");
  EXPECT_EQ(found("^a", "a\na\n"), "a|a|");
  EXPECT_EQ(found("(?m:a.)", "a\n"), "a\n|");
  EXPECT_EQ(found("a.", "a\n"), "");
  EXPECT_EQ(found(R"(\h+)", "xaF9g"), "aF9|");
  EXPECT_EQ(found(R"(\u00e9|\v)", "\u00e9\n\v"), "\u00e9|\v|");
}

TEST(Pattern, LongRunsOfWhatIsLookedAheadForAreFound) {
  const std::string run(200'000, 'b');
  EXPECT_EQ(found("[a-z&&[^a]]+", run), run + "|");
}

TEST(Pattern, NamesPatternsThatPcre2Refuses) {
  for (const char* regex :
       {"(", "[a", "a**", R"(\p{Nothing})", "(*UCP)a", R"(\C)", "[[[a]", "(?P<"}) {
    const std::string error = error_of(regex, "a", ErrorCode::kFile);
    EXPECT_NE(error.find("tokenizer.json"), std::string::npos) << regex << ": " << error;
    EXPECT_NE(error.find("cannot be used"), std::string::npos) << regex << ": " << error;
  }
  EXPECT_NE(error_of("(bad", "a", ErrorCode::kFile).find("'(bad'"), std::string::npos);
  error_of(std::string(50, '[') + "a" + std::string(50, ']'), "a", ErrorCode::kFile);
  error_of(std::string(1 << 17, 'a'), "a", ErrorCode::kFile);
}

// The rewritten pattern matches the same as the published one, here in a group so that it is not
// recognised. It goes through a long run of spaces inside a line only once; to do so from each
// space would take minutes.
TEST(Pattern, SpacesAtTheEndOfALine) {
  for (const char* text :
       {"a  ", "a \n b", " \n\n ", "a \n \n", "\n", "  a", "\u00a0\u3000\nb \n", " \n \n x \n"}) {
    EXPECT_EQ(found(R"(\s+$)", text), found(R"((?:\s+$))", text)) << text;
  }
  EXPECT_EQ(found(R"(\s+$)", "a \n b "), " | |");
  EXPECT_EQ(found(R"(\s+$)", std::string(1 << 20, ' ') + "a"), "");
}

TEST(Pattern, APatternThatRunsAwayIsNamed) {
  const std::string error = error_of("(a+)+$", std::string(60, 'a') + "b", ErrorCode::kRequest);
  EXPECT_NE(error.find("'(a+)+$' takes too long"), std::string::npos) << error;
}

}  // namespace
}  // namespace hearth
