#include "grammar/gbnf.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "grammar/position_store.h"

namespace hearth {
namespace {

bool accepts_text(const Grammar& grammar, std::string_view text) {
  PositionStore positions(grammar);
  return positions.may_end(positions.step(positions.first(), text));
}

std::string gbnf_error(std::string_view text) {
  try {
    gbnf_grammar(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

constexpr std::string_view kJson = R"gbnf(
# JSON, as one writes it by hand
root   ::= object
value  ::= object | array | string | number | ("true" | "false" | "null") ws

object ::=
  "{" ws (
            string ":" ws value
    ("," ws string ":" ws value)*
  )? "}" ws

array  ::= "[" ws ( value ("," ws value)* )? "]" ws
string ::= "\"" ( [^"\\\x7F\x00-\x1F] | "\\" (["\\bfnrt] | "u" [0-9a-fA-F]{4}) )* "\"" ws
number ::= ("-"? ([0-9] | [1-9] [0-9]{0,15})) ("." [0-9]+)? ([eE] [-+]? [0-9] [1-9]{0,15})? ws
ws ::= | " " | "\n" [ \t]{0,20}
)gbnf";

TEST(GbnfTest, ReadsWhatPeopleWrite) {
  auto grammar = gbnf_grammar(kJson);
  EXPECT_TRUE(accepts_text(*grammar, R"({"a": [1, -2.5e3, "x\n\u00e4", {}], "b":null})"));
  EXPECT_TRUE(accepts_text(*grammar, "{}\n  "));
  EXPECT_FALSE(accepts_text(*grammar, R"({"a": [1, ]})"));
  EXPECT_FALSE(accepts_text(*grammar, R"({"a": 01})"));
  EXPECT_FALSE(accepts_text(*grammar, "[]"));
}

TEST(GbnfTest, RecursionOfEveryKind) {
  auto left = gbnf_grammar("root ::= root \"+\" t | t\nt ::= [0-9]+ | \"(\" root \")\"");
  EXPECT_TRUE(accepts_text(*left, "1+(22+3)+4"));
  EXPECT_FALSE(accepts_text(*left, "1+(22+3"));
  auto right = gbnf_grammar("root ::= [a-z] root | .");
  EXPECT_TRUE(accepts_text(*right, "abc\xc3\xa4"));
  auto both = gbnf_grammar("root ::= \"(\" root \")\" root | \"\"");
  EXPECT_TRUE(accepts_text(*both, "(())()"));
  EXPECT_FALSE(accepts_text(*both, "(()"));
  auto counted = gbnf_grammar("root ::= (\"<\" root \">\"){2,3} | \"x\"");
  EXPECT_TRUE(accepts_text(*counted, "<x><<x><x>>"));
  EXPECT_FALSE(accepts_text(*counted, "<x>"));
}

TEST(GbnfTest, EscapesAndClasses) {
  auto grammar = gbnf_grammar("root ::= \"\\x41\\u00e4\\U0001F600\\t\\\"\" [\\]a-] [^\\n]");
  EXPECT_TRUE(accepts_text(*grammar, "A\xc3\xa4\xf0\x9f\x98\x80\t\"]x"));
  EXPECT_TRUE(accepts_text(*grammar, "A\xc3\xa4\xf0\x9f\x98\x80\t\"-\xc3\xa4"));
  EXPECT_FALSE(accepts_text(*grammar, "A\xc3\xa4\xf0\x9f\x98\x80\t\"b\n"));
}

TEST(GbnfTest, MistakesAreNamedByLine) {
  EXPECT_NE(gbnf_error("root ::= \"a\"\nb ::= [a").find("line 2"), std::string::npos);
  EXPECT_NE(gbnf_error("root ::= other").find("\"other\""), std::string::npos);
  EXPECT_NE(gbnf_error("x ::= \"a\"").find("\"root\""), std::string::npos);
  EXPECT_NE(gbnf_error("root ::= \"a\"\nroot ::= \"b\"").find("second time"), std::string::npos);
  EXPECT_NE(gbnf_error("root ::= \"a\" root").find("no text at all"), std::string::npos);
  for (const char* broken :
       {"", "root", "root ::= (", "root ::= )", "root ::= *", "root ::= \"a", "root ::= \"a\"{",
        "root ::= \"a\"{3,2}", "root ::= \"a\"{1000001}", "root ::= [b-a]", "root ::= \"\\q\"",
        "root ::= \"\\ud800\"", "root ::= <think>", "root ::= \"\xff\"", "root ::= \"\\"}) {
    EXPECT_NE(gbnf_error(broken), "") << broken;
  }
}

TEST(GbnfTest, HostileTextsAreFineOrRefused) {
  EXPECT_NE(gbnf_error("root ::= " + std::string(100'000, '(')), "");
  EXPECT_NE(gbnf_error(std::string(300'000, ' ')).find("bytes"), std::string::npos);
  std::string doubling = "root ::= r0\n", chain = doubling;
  for (int i = 0; i < 60; ++i) {
    std::string next = "r" + std::to_string(i + 1);
    doubling += "r" + std::to_string(i) + " ::= " + next + " " + next + "\n";
  }
  EXPECT_EQ(gbnf_error(doubling + "r60 ::= \"a\"?"), "");
  for (int i = 0; i < 8000; ++i) {
    chain += "r" + std::to_string(i) + " ::= \"a\" r" + std::to_string(i + 1) + " | \"b\"\n";
  }
  EXPECT_EQ(gbnf_error(chain + "r8000 ::= \"c\""), "");
  EXPECT_EQ(gbnf_error("root ::= ((\"a\"{2000}){2000}){2000}"), "");
}

TEST(GbnfTest, ChoicesAndPatterns) {
  std::vector<std::string> choices{"yes", "no", "yes, but"};
  auto grammar = choice_grammar(choices);
  EXPECT_TRUE(accepts_text(*grammar, "yes"));
  EXPECT_TRUE(accepts_text(*grammar, "yes, but"));
  EXPECT_FALSE(accepts_text(*grammar, "yes,"));
  EXPECT_THROW(choice_grammar({}), Error);
  EXPECT_THROW(choice_grammar(choices, byte_range('0', '9')), Error);
  EXPECT_TRUE(accepts_text(*pattern_grammar("\\d{3}|x+"), "123"));
  EXPECT_FALSE(accepts_text(*pattern_grammar("\\d{3}"), "1234"));
}

}  // namespace
}  // namespace hearth
