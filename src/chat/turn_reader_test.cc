#include "chat/turn_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <random>

#include "base/error.h"
#include "base/json_reader.h"
#include "chat/recorded_turn.h"

namespace hearth {
namespace {

using Call = TurnMessage::Call;

// Returns a tool whose parameters are given as the JSON of a schema's properties.
Tool tool(std::string name, const std::string& properties = "", const std::string& required = "") {
  return {.name = std::move(name),
          .parameters = R"({"type":"object","properties":{)" + properties + R"(},"required":[)" +
                        required + "]}"};
}

std::vector<Tool> tools() {
  return {
      tool("ping"), tool("ping_all"),
      tool("note", R"("text":{"type":"string"},"tags":{"type":"array","items":{"type":"string"}},
                          "size":{"type":"integer"},"far":{"type":"boolean"})",
           R"("text")"),
      tool("set", R"("key":{"type":"string"},"value":{"type":["string","number","null"]},
                         "more":{"type":"object"})",
           R"("key")")};
}

struct Turn {
  const char* name;
  const char* form;
  std::string text;  // markers that are usually tokens become tokens, except after a backslash
  std::string content, reasoning;
  std::vector<Call> calls;
  std::string prompt_tail = {};
  bool cut = false;
  ToolChoice choice = ToolChoice::kAuto;
};

void PrintTo(const Turn& turn, std::ostream* out) { *out << turn.text; }

std::vector<RecordedTurn::Piece> pieces_of(const Turn& turn, const KnownFormat& known) {
  std::vector<RecordedTurn::Piece> pieces;
  for (size_t at = 0; at < turn.text.size();) {
    const std::string_view rest = std::string_view(turn.text).substr(at);
    std::string_view marker;
    for (const std::string& control : known.controls) {
      if (rest.starts_with(control) && control.size() > marker.size()) marker = control;
    }
    if (!marker.empty()) {
      pieces.push_back({std::string(marker), true});
      at += marker.size();
      continue;
    }
    if (rest[0] == '\\' && rest.size() > 1 && rest[1] == '<') ++at;
    if (pieces.empty() || pieces.back().control) pieces.push_back({});
    pieces.back().text += turn.text[at++];
  }
  return pieces;
}

// A turn's text cut into tokens of random lengths up to `longest`.
struct Cut {
  TurnVocabulary vocabulary;
  std::vector<int32_t> tokens = {};
};

Cut cut_turn(const std::vector<RecordedTurn::Piece>& pieces,
             const std::vector<std::string>& markers, size_t longest, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<VocabularyToken> tokens(256);
  for (size_t byte = 0; byte < 256; ++byte) tokens[byte].bytes = {static_cast<char>(byte)};
  tokens.push_back({.role = TokenRole::kEnd});
  Cut cut{.vocabulary = {.end = 256}};
  for (const std::string& marker : markers) {
    cut.vocabulary.markers.push_back({marker, static_cast<int32_t>(tokens.size())});
    tokens.push_back({.role = TokenRole::kControl});
  }
  for (const RecordedTurn::Piece& piece : pieces) {
    if (piece.control) {
      const auto marker = std::ranges::find(markers, piece.text);
      cut.tokens.push_back(static_cast<int32_t>(257 + (marker - markers.begin())));
      continue;
    }
    for (size_t at = 0; at < piece.text.size();) {
      const size_t size = std::min(piece.text.size() - at, 1 + random() % longest);
      cut.tokens.push_back(static_cast<int32_t>(tokens.size()));
      tokens.push_back({.bytes = piece.text.substr(at, size)});
      at += size;
    }
  }
  cut.vocabulary.trie = std::make_shared<const VocabularyTrie>(tokens);
  return cut;
}

TurnOrder order_of(const Turn& turn) {
  return {.tools = tools(), .choice = turn.choice, .answer = {}, .prompt_tail = turn.prompt_tail};
}

void expect_message(const Turn& turn, const TurnMessage& read, const std::string& how) {
  SCOPED_TRACE(how);
  EXPECT_EQ(read.content, turn.content);
  EXPECT_EQ(read.reasoning, turn.reasoning);
  ASSERT_EQ(read.calls.size(), turn.calls.size());
  for (size_t i = 0; i < read.calls.size(); ++i) {
    EXPECT_EQ(read.calls[i].name, turn.calls[i].name);
    EXPECT_EQ(read.calls[i].arguments, turn.calls[i].arguments);
    EXPECT_EQ(read.calls[i].id, turn.calls[i].id);
    EXPECT_EQ(read.calls[i].whole, turn.calls[i].whole);
  }
}

class TurnTest : public testing::TestWithParam<Turn> {};

TEST_P(TurnTest, ReadsTheSameHoweverItIsCut) {
  const Turn& turn = GetParam();
  const KnownFormat* known = find_known_format(turn.form);
  ASSERT_NE(known, nullptr);
  const std::vector<RecordedTurn::Piece> pieces = pieces_of(turn, *known);
  for (uint32_t seed = 0; seed < 12; ++seed) {
    const size_t longest = seed == 0 ? 1 : size_t{1} << (seed % 6);
    Cut cut = cut_turn(pieces, known->controls, longest, seed);
    if (!turn.cut) cut.tokens.push_back(cut.vocabulary.end);
    auto language = std::make_shared<const TurnLanguage>(
        compile_turn(known->format, order_of(turn), cut.vocabulary.markers, cut.vocabulary.trie));
    expect_message(turn, read_turn(language, cut.tokens), "longest " + std::to_string(longest));
    // The turn's grammar allows all of the tokens.
    Matcher matcher(*language->begin);
    EXPECT_EQ(matcher.validate(cut.tokens), cut.tokens.size());
  }
}

// Events come as soon as they are certain: each token's part before the next token.
TEST_P(TurnTest, GivesOnlyCertainText) {
  const Turn& turn = GetParam();
  const KnownFormat* known = find_known_format(turn.form);
  const Cut cut = cut_turn(pieces_of(turn, *known), known->controls, 1, 0);
  TurnReader reader(std::make_shared<const TurnLanguage>(
      compile_turn(known->format, order_of(turn), cut.vocabulary.markers, cut.vocabulary.trie)));
  TurnMessage message;
  uint32_t begun = 0;
  for (int32_t token : cut.tokens) {
    std::vector<TurnEvent> events;
    reader.take(token, &events);
    for (const TurnEvent& event : events) {
      if (event.kind == TurnEvent::Kind::kCall) {
        EXPECT_EQ(event.call, begun++);
      }
    }
    join_events(events, &message);
    EXPECT_TRUE(turn.content.starts_with(message.content)) << message.content;
    EXPECT_TRUE(turn.reasoning.starts_with(message.reasoning)) << message.reasoning;
  }
}

Call whole(std::string name, std::string arguments, std::string id = "") {
  return {std::move(id), std::move(name), std::move(arguments), true};
}

INSTANTIATE_TEST_SUITE_P(
    Forms, TurnTest,
    testing::Values(
        Turn{"hermes",
             "hermes",
             "<think>\nHm, <b>.\n</think>\n\nSure.\n<tool_call>\n{\"name\": \"note\", "
             "\"arguments\": "
             "{\"text\": \"a \\</tool_call> \\u00e9\", \"tags\": []}}\n</tool_call>\n<tool_call>"
             "{\"name\":\"ping\",\"arguments\":{}}</tool_call>\n",
             "Sure.",
             "Hm, <b>.",
             {whole("note", "{\"text\": \"a </tool_call> \\u00e9\", \"tags\": []}"),
              whole("ping", "{}")}},
        Turn{"plain", "hermes", " Hello <tool_ca there.\n", " Hello <tool_ca there.\n", "", {}},
        Turn{"spelled",
             "hermes",
             "Say \\<tool_call> and \\<think>.",
             "Say <tool_call> and <think>.",
             "",
             {}},
        Turn{"no_tools",
             "hermes",
             "A <tool_call> here.",
             "A <tool_call> here.",
             "",
             {},
             "",
             false,
             ToolChoice::kNone},
        Turn{"opened", "hermes", "I see.</think>Yes.", "Yes.", "I see.", {}, "<think>\n"},
        Turn{"closed", "hermes", "Yes.", "Yes.", "", {}, "<think>\n\n</think>\n\n"},
        Turn{"cut_in_name", "hermes", "<tool_call>\n{\"name\": \"pin", "", "", {}, "", true},
        Turn{"cut_in_arguments",
             "hermes",
             "<tool_call>\n{\"name\": \"note\", \"arguments\": {\"te",
             "",
             "",
             {{"", "note", "{\"te", false}},
             "",
             true},
        Turn{"cut_in_reasoning", "hermes", "<think>so far", "", "so far", {}, "", true},
        Turn{"prefix_names",
             "hermes",
             "<tool_call>\n{\"name\": \"ping_all\", \"arguments\": {}}\n</tool_call>",
             "",
             "",
             {whole("ping_all", "{}")}},
        Turn{
            "parameters",
            "qwen3-coder",
            "I do.\n<tool_call>\n<function=note>\n<parameter=text>\n\n007 \"x\" </param>\n\n"
            "</parameter>\n<parameter=size>\n3\n</parameter>\n<parameter=far>\nTrue\n</parameter>\n"
            "</function>\n</tool_call>",
            "I do.",
            "",
            {whole("note",
                   "{\"text\": \"\\n007 \\\"x\\\" </param>\\n\", \"size\": 3, \"far\": "
                   "true}")}},
        Turn{"either_text_or_number",
             "qwen3-coder",
             "<tool_call>\n<function=set>\n<parameter=key>\n12\n</"
             "parameter>\n<parameter=value>\n12\n"
             "</parameter>\n</function>\n</"
             "tool_call>\n<tool_call>\n<function=set>\n<parameter=key>\n"
             "k\n</parameter>\n<parameter=value>\n12 "
             "apples\n</parameter>\n<parameter=more>\n{\"a\": "
             "[1]}\n</parameter>\n</function>\n</tool_call>",
             "",
             "",
             {whole("set", "{\"key\": \"12\", \"value\": 12}"),
              whole("set", "{\"key\": \"k\", \"value\": \"12 apples\", \"more\": {\"a\": [1]}}")}},
        Turn{"no_parameters",
             "qwen3-coder",
             "<tool_call>\n<function=ping>\n</function>\n</tool_call>",
             "",
             "",
             {whole("ping", "{}")}},
        Turn{"bare",
             "llama3-json",
             "{\"name\": \"note\", \"parameters\": {\"text\": \"é\"}}",
             "",
             "",
             {whole("note", "{\"text\": \"é\"}")}},
        Turn{"like_bare",
             "llama3-json",
             "{\"name\": \"Bob\"} is one.",
             "{\"name\": \"Bob\"} is one.",
             "",
             {}},
        Turn{"tag_of_text",
             "functionary-v3.1",
             "Well <function.\n<function=note>{\"text\": \"x\"}</function>",
             "Well <function.",
             "",
             {whole("note", "{\"text\": \"x\"}")}},
        Turn{"list",
             "mistral-nemo",
             "[TOOL_CALLS][{\"name\": \"ping\", \"arguments\": {}, \"id\": \"AbCd12345\"}, "
             "{\"name\": "
             "\"note\", \"arguments\": {\"text\": \"]\"}, \"id\": \"000000002\"}]",
             "",
             "",
             {whole("ping", "{}", "AbCd12345"), whole("note", "{\"text\": \"]\"}", "000000002")}},
        Turn{"between_marks",
             "command-r7b",
             "<|START_THINKING|>T.<|END_THINKING|>\n<|START_RESPONSE|>So <b>.<|END_RESPONSE|>",
             "So <b>.",
             "T.",
             {}},
        Turn{"between_no_marks", "command-r7b", "So.", "So.", "", {}},
        Turn{"id_before_name",
             "command-r7b",
             "<|START_THINKING|>T.<|END_THINKING|><|START_ACTION|>[\n    {\"tool_call_id\": \"0\", "
             "\"tool_name\": \"ping\", \"parameters\": {}}\n]<|END_ACTION|>",
             "",
             "T.",
             {whole("ping", "{}", "0")}},
        Turn{"name_and_id",
             "mistral-v11",
             "[TOOL_CALLS]note[CALL_ID]123456789[ARGS]{\"text\": \"a\"}",
             "",
             "",
             {whole("note", "{\"text\": \"a\"}", "123456789")}},
        Turn{"name_and_json",
             "mistral-v13",
             "[THINK]maybe [TOOL_CALLS]ping[ARGS]{}[/THINK]Yes.[TOOL_CALLS]ping[ARGS]{}"
             "[TOOL_CALLS]note[ARGS]{\"text\": \"\"}",
             "Yes.",
             "maybe [TOOL_CALLS]ping[ARGS]{}",
             {whole("ping", "{}"), whole("note", "{\"text\": \"\"}")}},
        Turn{"fences",
             "deepseek-v3",
             "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>note\n```json\n"
             "{\"text\": "
             "\"```\"}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>"
             "ping\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
             "",
             "",
             {whole("note", "{\"text\": \"```\"}"), whole("ping", "{}")}},
        Turn{"section",
             "deepseek-v3.1",
             "Hm.</think>A.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>ping<｜tool▁sep｜>{}"
             "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
             "A.",
             "Hm.",
             {whole("ping", "{}")},
             "<think>"},
        Turn{"dsml",
             "deepseek-dsml",
             "So <b>.\n\n<｜DSML｜function_calls>\n<｜DSML｜invoke "
             "name=\"note\">\n<｜DSML｜parameter "
             "name=\"text\" string=\"true\">12</｜DSML｜parameter>\n<｜DSML｜parameter "
             "name=\"size\" "
             "string=\"false\">12</｜DSML｜parameter>\n</｜DSML｜invoke>\n<｜DSML｜invoke "
             "name=\"ping\">\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
             "So <b>.",
             "",
             {whole("note", "{\"text\": \"12\", \"size\": 12}"), whole("ping", "{}")},
             "<think></think>"},
        Turn{"name_in_id",
             "kimi-k2",
             "<think>T.</think>Ok.<|tool_calls_section_begin|><|tool_call_begin|>functions.ping:0"
             "<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_call_begin|>functions.note:1"
             "<|tool_call_argument_begin|>{\"text\": \"\"}<|tool_call_end|>"
             "<|tool_calls_section_end|>",
             "Ok.",
             "T.",
             {whole("ping", "{}", "functions.ping:0"),
              whole("note", "{\"text\": \"\"}", "functions.note:1")}},
        Turn{"keys_and_values",
             "glm-4.5",
             "\n<think>T.</think>\nNow.\n<tool_call>note\n<arg_key>text</arg_key>\n<arg_value>1 < "
             "2\n"
             "</arg_value>\n<arg_key>size</arg_key>\n<arg_value>77</arg_value>\n</tool_call>\n"
             "<tool_call>note\n<arg_key>text</arg_key>\n<arg_value></arg_value>\n</tool_call>\n"
             "<tool_call>ping\n</tool_call>",
             "Now.",
             "T.",
             {whole("note", "{\"text\": \"1 < 2\\n\", \"size\": 77}"),
              whole("note", "{\"text\": \"\"}"), whole("ping", "{}")}},
        Turn{"harmony_call",
             "gpt-oss",
             "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary "
             "to=functions.note <|constrain|>json<|message|>{\"text\": \"a\"}<|call|>",
             "",
             "Hm.",
             {whole("note", "{\"text\": \"a\"}")},
             "<|start|>assistant"},
        Turn{"harmony_role",
             "gpt-oss",
             " to=functions.ping<|channel|>commentary json<|message|>{}<|call|>",
             "",
             "",
             {whole("ping", "{}")},
             "<|start|>assistant"},
        Turn{"harmony_preamble",
             "gpt-oss",
             "<|channel|>commentary<|message|>I look.<|end|><|start|>assistant<|channel|>final"
             "<|message|>Hi.<|return|>",
             "I look.Hi.",
             "",
             {},
             "<|start|>assistant"},
        Turn{"dictionary",
             "gemma4",
             "<|channel>thought\nOk.\n<channel|><|tool_call>call:note{text:<|\"|>b:c \"q\"<|\"|>,"
             "tags:[<|\"|><|\"|>,<|\"|>x<|\"|>],size:2}<tool_call|><|tool_call>call:ping{}"
             "<tool_call|>",
             "",
             "Ok.",
             {whole("note", "{\"text\": \"b:c \\\"q\\\"\",\"tags\": [\"\",\"x\"],\"size\": 2}"),
              whole("ping", "{}")}},
        Turn{"python",
             "lfm2",
             "<|tool_call_start|>[note(text='say \\u0022', size=2, far=True), ping(), "
             "set(key=\"it's\", value=None)]<|tool_call_end|>",
             "",
             "",
             {whole("note", "{\"text\": \"say \\u0022\", \"size\": 2, \"far\": true}"),
              whole("ping", "{}"), whole("set", "{\"key\": \"it's\", \"value\": null}")}}),
    [](const auto& turn) { return turn.param.name; });

// An invalid byte in a text is given before the markup that ends the text.
TEST(TurnReader, EndsACharacterWithItsText) {
  const KnownFormat& known = *find_known_format("hermes");
  const TurnVocabulary vocabulary = made_turn_vocabulary(known.controls);
  const auto language = std::make_shared<const TurnLanguage>(
      compile_turn(known.format, {.tools = tools(), .choice = ToolChoice::kAuto},
                   vocabulary.markers, vocabulary.trie));
  RecordedTurn turn;
  turn.pieces = {{"a\xC3"},
                 {"<tool_call>", true},
                 {"\n{\"name\": \"ping\", \"arguments\": {}}\n"},
                 {"</tool_call>", true}};
  TurnReader reader(language);
  std::vector<TurnEvent> events;
  for (int32_t token : tokens_of(turn, vocabulary)) reader.take(token, &events);
  reader.end(&events);
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0], (TurnEvent{.kind = TurnEvent::Kind::kContent, .text = "a\uFFFD"}));
  EXPECT_EQ(events[1].kind, TurnEvent::Kind::kCall);
}

}  // namespace
}  // namespace hearth
