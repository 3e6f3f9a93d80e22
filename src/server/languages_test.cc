// Tests Languages: grammars are compiled once; errors name the field.
#include "server/languages.h"

#include <gtest/gtest.h>

#include "server/request_error.h"
#include "tokenizer/test_vocab.h"

namespace hearth {
namespace {

class LanguagesTest : public testing::Test {
 protected:
  std::shared_ptr<const Matcher> find(OutputKind kind, std::string text,
                                      std::vector<std::string> choices = {}) {
    return languages_.find({kind, "field", std::move(text), std::move(choices)}, *tokenizer_);
  }
  bool holds(OutputKind kind, const std::string& shape, std::string_view text,
             std::vector<std::string> choices = {}) {
    Matcher matcher = *find(kind, shape, std::move(choices));
    for (const char c : text) {
      if (!matcher.accept(static_cast<uint8_t>(c))) return false;
    }
    return matcher.may_end();
  }
  std::string error(OutputKind kind, const std::string& text) {
    try {
      find(kind, text);
    } catch (const RequestError& error) {
      EXPECT_EQ(error.api().status, 400u);
      EXPECT_EQ(error.api().param, "field");
      return error.api().code + ": " + error.api().message;
    }
    return "none";
  }

  std::unique_ptr<Tokenizer> tokenizer_ = Tokenizer::from_vocab(bpe_vocab({}));
  Languages languages_;
};

TEST_F(LanguagesTest, HoldsEveryKindOfShape) {
  EXPECT_TRUE(holds(OutputKind::kJsonObject, "", R"({"a":[1,{}]})"));
  EXPECT_FALSE(holds(OutputKind::kJsonObject, "", "[]"));
  EXPECT_FALSE(holds(OutputKind::kJsonObject, "", R"({"a":1,"a":2})"));
  EXPECT_TRUE(holds(OutputKind::kJsonSchema, R"({"type":"integer","maximum":7})", "-12"));
  EXPECT_FALSE(holds(OutputKind::kJsonSchema, R"({"type":"integer","maximum":7})", "12"));
  EXPECT_TRUE(holds(OutputKind::kRegex, "a[bc]+", "abcb"));
  EXPECT_FALSE(holds(OutputKind::kRegex, "a[bc]+", "xabcb"));
  EXPECT_TRUE(holds(OutputKind::kChoice, "", "red", {"red", "green"}));
  EXPECT_FALSE(holds(OutputKind::kChoice, "", "r", {"red", "green"}));
  EXPECT_TRUE(holds(OutputKind::kGbnf, "root ::= \"(\" root \")\" | \"x\"", "((x))"));
  EXPECT_FALSE(holds(OutputKind::kGbnf, "root ::= \"(\" root \")\" | \"x\"", "((x)"));
}

TEST_F(LanguagesTest, CompilesAShapeOnce) {
  const std::shared_ptr<const Matcher> first = find(OutputKind::kRegex, "a+");
  EXPECT_EQ(find(OutputKind::kRegex, "a+"), first);
  EXPECT_NE(find(OutputKind::kGbnf, "root ::= \"a+\""), first);
  EXPECT_NE(find(OutputKind::kChoice, "", {"a", "b"}), find(OutputKind::kChoice, "", {"a b"}));
  // Three large grammars together exceed the room, and those used least recently are dropped.
  for (int i = 0; i < 3; ++i) {
    const std::string many(size_t{30} << 20, static_cast<char>('a' + i));
    find(OutputKind::kChoice, "", {many});
  }
  EXPECT_NE(find(OutputKind::kRegex, "a+"), first);
}

TEST_F(LanguagesTest, RefusalsNameTheField) {
  EXPECT_EQ(error(OutputKind::kRegex, "(?<=x)a"),
            "invalid_value: field has a lookbehind, which is not supported");
  EXPECT_EQ(error(OutputKind::kGbnf, "root ::= x").find("invalid_value: field has no rule"), 0u);
  EXPECT_EQ(error(OutputKind::kJsonSchema, R"({"properties":{"a":{"$ref":"http://x/"}}})")
                .find("invalid_schema: field.properties.a: keyword \"$ref\""),
            0u);
  EXPECT_EQ(error(OutputKind::kJsonSchema, "{").find("invalid_schema: field"), 0u);
  EXPECT_EQ(error(OutputKind::kJsonSchema, "false").find("invalid_schema: field"), 0u);
}

TEST_F(LanguagesTest, CompilesATurnOnce) {
  const TurnFormat& format = find_known_format("hermes")->format;
  auto order = [](std::string schema, bool strict = false) {
    TurnOrder made{.choice = ToolChoice::kAuto};
    made.tools.push_back({.name = "f",
                          .parameters = std::move(schema),
                          .strict = strict,
                          .where = "tools[0].function.parameters"});
    return made;
  };
  const auto first = languages_.find_turn(format, order("{}"), *tokenizer_);
  EXPECT_TRUE(first->tools);
  EXPECT_EQ(languages_.find_turn(format, order("{}"), *tokenizer_), first);
  TurnOrder opened = order("{}");
  opened.prompt_tail = "<think>\n";
  const auto thinking = languages_.find_turn(format, opened, *tokenizer_);
  EXPECT_NE(thinking, first);
  opened.prompt_goes_on = true;
  EXPECT_NE(languages_.find_turn(format, opened, *tokenizer_), thinking);
  EXPECT_NE(languages_.find_turn(format, order("{}", true), *tokenizer_), first);
  const char* remote = R"({"type":"object","properties":{"a":{"$ref":"http://x/"}}})";
  EXPECT_EQ(languages_.find_turn(format, order(remote), *tokenizer_)->relaxed.size(), 1u);
  try {
    languages_.find_turn(format, order(remote, true), *tokenizer_);
    FAIL() << "it is strict";
  } catch (const RequestError& error) {
    EXPECT_EQ(error.api().code, "invalid_schema");
    EXPECT_EQ(error.api().param, "tools[0].function.parameters");
  }
  TurnOrder answer{.answer = {OutputKind::kRegex, "guided_regex", "(?<=x)a", {}}};
  try {
    languages_.find_turn(format, answer, *tokenizer_);
    FAIL() << "nobody can hold it";
  } catch (const RequestError& error) {
    EXPECT_EQ(error.api().code, "invalid_value");
    EXPECT_EQ(error.api().param, "guided_regex");
  }
}

}  // namespace
}  // namespace hearth
