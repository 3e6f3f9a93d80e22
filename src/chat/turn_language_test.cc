#include "chat/turn_language.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "base/error.h"
#include "base/json_reader.h"
#include "chat/recorded_turn.h"
#include "grammar/byte_vocabulary.h"
#include "grammar/schema.h"
#include "grammar/schema_budget.h"
#include "grammar/token_mask.h"

namespace hearth {
namespace {

constexpr const char* kOrderSchema =
    R"({"type":"object","properties":{"sku":{"type":"string","minLength":1,"maxLength":4},
        "count":{"type":"integer","minimum":1,"maximum":99},
        "kind":{"enum":["a","b c",null,7]},
        "to":{"type":"array","items":{"type":"boolean"},"maxItems":2},
        "more":{"type":"object","properties":{"x":{"type":["string","number"]}},
                "additionalProperties":false}},
        "required":["sku","kind"],"additionalProperties":false})";

TurnVocabulary vocabulary_of(const KnownFormat& known) {
  return made_turn_vocabulary(known.controls);
}

TurnOrder order_of(ToolChoice choice) {
  return {.tools = {{.name = "order", .parameters = kOrderSchema, .strict = true, .where = "t"},
                    {.name = "order.all"}},
          .choice = choice};
}

bool is_document(const std::string& schema, const std::string& text) {
  Matcher matcher(compile_schema(schema, {}).grammar, single_byte_vocabulary());
  for (char byte : text) {
    if (!matcher.accept(static_cast<uint8_t>(byte))) return false;
  }
  return matcher.may_end();
}

// Walks along random allowed tokens until the turn ends, and checks that the matcher allows exactly
// those in its mask.
std::vector<int32_t> walk(const TurnLanguage& language, uint32_t seed) {
  std::mt19937 random(seed);
  Matcher matcher(*language.begin);
  const VocabularyTrie& vocabulary = matcher.vocabulary();
  std::vector<uint64_t> bits(vocabulary.mask_words());
  std::vector<int32_t> tokens;
  while (!matcher.ended()) {
    matcher.mask(bits);
    std::vector<int32_t> allowed, likely;
    for (size_t i = 0; i < vocabulary.size(); ++i) {
      const auto id = static_cast<int32_t>(i);
      EXPECT_EQ(has_bit(bits, id), matcher.allows(id)) << id;
      if (!has_bit(bits, id)) continue;
      allowed.push_back(id);
      // The walk prefers marks, which end texts, to letters, which make them longer.
      const bool mark = i < 256 ? std::string_view("\"},])'\n<|/>").find(static_cast<char>(i)) !=
                                      std::string_view::npos
                                : true;
      if (mark) likely.push_back(id);
    }
    if (allowed.empty()) {
      ADD_FAILURE() << "a dead end behind " << tokens.size() << " tokens";
      break;
    }
    const bool mark = !likely.empty() && random() % 4 != 0;
    const std::vector<int32_t>& from = mark ? likely : allowed;
    int32_t token = from[random() % from.size()];
    if (has_bit(bits, 256) && tokens.size() > 300) token = 256;
    if (!matcher.accept(token)) {
      ADD_FAILURE() << "token " << token << " and then rejected it";
      break;
    }
    tokens.push_back(token);
    if (tokens.size() > 4000) {
      ADD_FAILURE() << "no end";
      break;
    }
  }
  return tokens;
}

class FormTest : public testing::TestWithParam<std::string_view> {};

TEST_P(FormTest, WalksEndInCallsOfTheirSchemas) {
  const KnownFormat& known = *find_known_format(GetParam());
  const TurnVocabulary vocabulary = vocabulary_of(known);
  size_t calls = 0;
  for (uint32_t seed = 0; seed < 6; ++seed) {
    TurnOrder order = order_of(ToolChoice::kRequired);
    order.parallel = seed % 2 == 0;
    const auto language = std::make_shared<const TurnLanguage>(
        compile_turn(known.format, order, vocabulary.markers, vocabulary.trie));
    EXPECT_TRUE(language->bound && language->tools);
    const std::vector<int32_t> tokens = walk(*language, seed);
    const TurnMessage message = read_turn(language, tokens);
    EXPECT_EQ(message.content, "");
    ASSERT_FALSE(message.calls.empty());
    if (!order.parallel) {
      EXPECT_EQ(message.calls.size(), 1u);
    }
    for (const TurnMessage::Call& call : message.calls) {
      EXPECT_TRUE(call.whole);
      ++calls;
      if (call.name == "order") {
        EXPECT_TRUE(is_document(kOrderSchema, call.arguments)) << call.arguments;
      } else {
        EXPECT_TRUE(is_document(R"({"additionalProperties":false})", call.arguments));
      }
    }
  }
  EXPECT_GE(calls, 6u);
}

// Any text that is not a call is content, without a byte lost.
TEST_P(FormTest, AnyTextIsContent) {
  const KnownFormat& known = *find_known_format(GetParam());
  const TurnVocabulary vocabulary = vocabulary_of(known);
  TurnOrder order = order_of(ToolChoice::kAuto);
  if (known.format.harmony) order.prompt_tail = "<|channel|>final<|message|>";
  const auto language = std::make_shared<const TurnLanguage>(
      compile_turn(known.format, order, vocabulary.markers, vocabulary.trie));
  for (const std::string text : {"", "Hello", "  a < b and [x](y) {\"name\": 1}", "<", "[", "\n\n",
                                 "{\"", "€ é", "<think"}) {
    std::vector<int32_t> tokens = vocabulary.encode(text);
    tokens.push_back(vocabulary.end);
    Matcher matcher(*language->begin);
    EXPECT_EQ(matcher.validate(tokens), tokens.size()) << text;
    EXPECT_EQ(read_turn(language, tokens).content, text);
  }
}

INSTANTIATE_TEST_SUITE_P(Known, FormTest, testing::ValuesIn(known_format_names()),
                         [](const auto& form) {
                           std::string name;
                           for (char c : form.param) name += c == '-' || c == '.' ? '_' : c;
                           return name;
                         });

TurnLanguage hermes(const TurnOrder& order) {
  const KnownFormat& known = *find_known_format("hermes");
  const TurnVocabulary vocabulary = vocabulary_of(known);
  return compile_turn(known.format, order, vocabulary.markers, vocabulary.trie);
}

std::string error_of(const TurnOrder& order) {
  try {
    hermes(order);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(TurnLanguage, RelaxesAnUnsupportedToolSchemaAlone) {
  TurnOrder order = order_of(ToolChoice::kAuto);
  order.tools.push_back({.name = "odd",
                         .parameters = R"({"type":"object","properties":
                           {"a":{"type":"string","pattern":"(?<=x)y"},"b":{"type":"integer"}},
                           "required":["b"]})",
                         .where = "tools[2].function.parameters"});
  order.tools.push_back({.name = "none", .parameters = R"({"$ref":"http://x/y"})", .where = "n"});
  const TurnLanguage language = hermes(order);
  ASSERT_EQ(language.relaxed.size(), 2u);
  EXPECT_TRUE(language.relaxed[0].starts_with("tools[2].function.parameters.properties.a: "))
      << language.relaxed[0];
  EXPECT_TRUE(language.relaxed[1].starts_with("n: ")) << language.relaxed[1];
  order.tools[2].strict = true;
  EXPECT_TRUE(error_of(order).starts_with("tools[2].function.parameters.properties.a: "));
}

// Returns a schema that is slow to compile; with 2,000 properties it is too complex by itself.
std::string slow_schema(int properties = 2000) {
  std::string schema = R"({"type":"object","properties":{)";
  for (int i = 0; i < properties; ++i) {
    const std::string number = std::to_string(i);
    schema += (i > 0 ? ",\"p" : "\"p") + number + R"(":{"type":"string","pattern":"^(a|bc)*x)" +
              number + R"([d-f]{2,9}$","maxLength":99})";
  }
  return schema + "}}";
}

TEST(TurnLanguage, RelaxesSchemasThatTakeTooLongTogether) {
  TurnOrder order = order_of(ToolChoice::kAuto);
  for (int i = 0; i < 16; ++i) {
    const std::string name = "slow" + std::to_string(i);
    order.tools.push_back({.name = name, .parameters = slow_schema(), .where = name});
  }
  EXPECT_EQ(error_of(order), "");
  EXPECT_FALSE(hermes(order).relaxed.empty());
}

// This schema's rules are made quickly, but the grammar of them takes too much work.
TEST(TurnLanguage, RelaxesASchemaWhoseGrammarTakesTooLong) {
  TurnOrder order = order_of(ToolChoice::kAuto);
  order.tools.push_back({.name = "slow", .parameters = slow_schema(1200), .where = "slow"});
  EXPECT_EQ(error_of(order), "");
  EXPECT_FALSE(hermes(order).relaxed.empty());
  // Another tool's schema, which is strict, is still enforced.
  order.tools[0].strict = true;
  EXPECT_EQ(error_of(order), "");
  order.tools.back().strict = true;
  // A slow machine has no time left before it has done too many steps.
  EXPECT_THAT(error_of(order), testing::AnyOf(testing::HasSubstr("is too complex"),
                                              testing::HasSubstr("takes too long to compile")));
}

// Sentences about relaxed schemas are short enough to read, and limited in number.
TEST(TurnLanguage, SaysALittleOfWhatIsLeftOut) {
  TurnOrder order = order_of(ToolChoice::kAuto);
  std::string properties;
  for (int i = 0; i < 100; ++i) {
    if (i > 0) properties += ',';
    properties += "\"q" + std::to_string(i) + R"(":{"pattern":"(?<=x)y"})";
  }
  const std::string schema =
      R"({"properties":{")" + std::string(2000, 'n') + R"(":{"properties":{)" + properties + "}}}}";
  order.tools.push_back({.name = "long", .parameters = schema, .where = "long"});
  size_t bytes = 0;
  for (const std::string& sentence : hermes(order).relaxed) bytes += sentence.size();
  EXPECT_GT(bytes, 1000u);
  EXPECT_LT(bytes, 20'000u);
}

TEST(TurnLanguage, BindsTheAnswerAndLeavesCallsPossible) {
  TurnOrder order = order_of(ToolChoice::kAuto);
  order.answer = {.kind = OutputKind::kJsonSchema,
                  .name = "response_format",
                  .text = R"({"type":"object","properties":{"x":{"type":"integer"}},
                              "required":["x"],"additionalProperties":false})"};
  const KnownFormat& known = *find_known_format("hermes");
  const TurnVocabulary vocabulary = vocabulary_of(known);
  const auto language = std::make_shared<const TurnLanguage>(
      compile_turn(known.format, order, vocabulary.markers, vocabulary.trie));
  auto accepted = [&](const std::vector<RecordedTurn::Piece>& pieces) {
    RecordedTurn turn;
    turn.pieces = pieces;
    const std::vector<int32_t> tokens = tokens_of(turn, vocabulary);
    Matcher matcher(*language->begin);
    return matcher.validate(tokens) == tokens.size();
  };
  EXPECT_TRUE(accepted({{"{\"x\": 1}"}}));
  EXPECT_TRUE(accepted({{"<think>", true}, {"any"}, {"</think>", true}, {"\n\n{\"x\": 1}"}}));
  EXPECT_TRUE(accepted({{"<tool_call>", true},
                        {"\n{\"name\": \"order.all\", \"arguments\": {}}\n"},
                        {"</tool_call>", true}}));
  EXPECT_FALSE(accepted({{"Hello"}}));
  EXPECT_FALSE(accepted({{"{\"x\": 1, \"x\": 2}"}}));
  EXPECT_FALSE(accepted({{"<think>", true}, {"no end"}}));
  EXPECT_FALSE(accepted({{"<tool_call>", true}, {"\n{\"name\": \"nobody\""}}));
}

TEST(TurnLanguage, NamesOfArgumentsComeOnce) {
  const KnownFormat& known = *find_known_format("mistral-v13");
  const TurnVocabulary vocabulary = vocabulary_of(known);
  TurnOrder order{.tools = {{.name = "any", .parameters = R"({"type":"object"})"}},
                  .choice = ToolChoice::kAuto};
  const TurnLanguage language =
      compile_turn(known.format, order, vocabulary.markers, vocabulary.trie);
  auto fits = [&](const std::string& content, const std::string& arguments) {
    RecordedTurn turn;
    turn.pieces = {{content}, {"[TOOL_CALLS]", true}, {"any"}, {"[ARGS]", true}, {arguments}};
    const std::vector<int32_t> tokens = tokens_of(turn, vocabulary);
    return Matcher(*language.begin).validate(tokens) == tokens.size();
  };
  EXPECT_TRUE(fits("{\"a\": 1, \"a\"", "{\"a\": {\"a\": 1}, \"b\": [{\"a\": 2}]}"));
  EXPECT_FALSE(fits("", "{\"a\": 1, \"b\": 2, \"\\u0061\": 3}"));
}

TEST(TurnLanguage, DoesNotBindATurnWithoutToolsOrShape) {
  const TurnLanguage language = hermes({});
  EXPECT_FALSE(language.bound);
  EXPECT_FALSE(language.tools);
}

}  // namespace
}  // namespace hearth
