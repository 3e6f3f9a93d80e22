// Tests find_turn_format() on templates of every form (tests/templates/turns), each named after its
// known form.
#include "chat/find_turn_format.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/error.h"
#include "chat/call_texts.h"
#include "chat/marker_atoms.h"
#include "chat/turn_probes.h"
#include "template/chat_template.h"

namespace hearth {
namespace {

std::string turn_template(std::string_view name) {
  std::ifstream file(std::string(HEARTH_TURN_TEMPLATES) + "/" + std::string(name) + ".jinja");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_FALSE(text.str().empty()) << name;
  return text.str();
}

RenderTurns render_with(const std::string& source) {
  return [chat = ChatTemplate(source)](const boost::json::array& messages,
                                       const boost::json::object& variables) {
    boost::json::object request = variables;
    request["messages"] = messages;
    boost::json::object own = {{"bos_token", "<s>"}, {"eos_token", "</s>"}};
    if (variables.contains("add_generation_prompt")) {
      own["add_generation_prompt"] = variables.at("add_generation_prompt");
    }
    return chat.render(request, own).text;
  };
}

FoundTurnFormat found_in(const std::string& source, const std::vector<std::string>& tokens = {}) {
  return find_turn_format(render_with(source), [&](std::string_view text) {
    return std::find(tokens.begin(), tokens.end(), text) != tokens.end();
  });
}

// Returns a template with messages in "<|role|>...<|e|>" that writes calls as `call` does, where
// `c` is a call's function.
std::string simple_template(const std::string& call) {
  return "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}"
         "{% for t in m.tool_calls or [] %}{% set c = t.function %}" +
         call +
         "{% endfor %}<|e|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}";
}

class FindsKnownForm : public testing::TestWithParam<std::string_view> {};

TEST_P(FindsKnownForm, FindsTheFormOfTheTable) {
  const KnownFormat* known = find_known_format(GetParam());
  ASSERT_NE(known, nullptr);
  const FoundTurnFormat found = found_in(turn_template(GetParam()));
  EXPECT_EQ(found.problem, "");
  EXPECT_EQ(found.format.harmony, known->format.harmony);
  // Granite and Qwen write calls in the same form, which is called "hermes".
  const bool shared = GetParam() == "granite-4";
  EXPECT_EQ(found.format.name, shared ? "hermes" : GetParam());
  EXPECT_EQ(found.format.calls, known->format.calls);
}

INSTANTIATE_TEST_SUITE_P(Templates, FindsKnownForm, testing::ValuesIn(known_format_names()),
                         [](const auto& one) {
                           std::string name(one.param);
                           std::erase_if(name, [](char c) { return c == '-' || c == '.'; });
                           return name;
                         });

TEST_P(FindsKnownForm, CutsItsTurns) {
  const RenderTurns render = render_with(turn_template(GetParam()));
  const FoundTurnFormat found = find_turn_format(render, [](auto) { return false; });
  for (const TurnProbe& probe : turn_probes(style_of(found))) {
    const ProbeText text = render_probe(render, probe);
    EXPECT_NE(text.prompt.find(kProbeQuestion), std::string::npos) << probe.what;
    for (const std::string& said : {probe.content, probe.reasoning}) {
      EXPECT_NE(text.turn.find(said), std::string::npos) << probe.what << ": " << text.turn;
    }
    if (probe.calls.empty() || !found.format.calls || probe.often_wrong) continue;
    if (!probe.content.empty() || !probe.reasoning.empty()) continue;
    std::string_view turn = text.turn;
    const std::string& end = found.format.reasoning_end;
    const size_t at = end.empty() ? std::string_view::npos : turn.find(end);
    if (at != std::string_view::npos) turn.remove_prefix(at + end.size());
    EXPECT_TRUE(is_written_so(*found.format.calls, probe.calls, turn, true))
        << probe.what << ": " << text.turn;
  }
}

TEST(FindTurnFormat, FindsWhatTemplatesWantOfAHistory) {
  auto history = [](std::string_view name) { return found_in(turn_template(name)).format.history; };
  EXPECT_EQ(history("hermes"), HistoryFormat{});
  EXPECT_EQ(history("mistral-nemo"), HistoryFormat{.id_length = 9});
  EXPECT_EQ(history("mistral-v13").reasoning_key, "reasoning");
  EXPECT_EQ(history("gpt-oss").reasoning_key, "thinking");
  EXPECT_EQ(history("command-r7b").reasoning_key, "tool_plan");
  EXPECT_TRUE(history("functionary-v3.1").arguments_as_text);
  EXPECT_FALSE(history("deepseek-v3.1").arguments_as_text);
  EXPECT_TRUE(found_in(turn_template("deepseek-v3")).format.history.null_content);
  EXPECT_TRUE(found_in(turn_template("kimi-k2")).named_ids);
  EXPECT_FALSE(found_in(turn_template("hermes")).named_ids);
  EXPECT_TRUE(found_in(turn_template("hermes")).shows_content_before_calls);
  EXPECT_FALSE(found_in(turn_template("gemma4")).shows_content_before_calls);
}

TEST(FindTurnFormat, FindsReasoning) {
  auto marks = [](std::string_view name, const std::vector<std::string>& tokens = {}) {
    const FoundTurnFormat found = found_in(turn_template(name), tokens);
    return found.format.reasoning_begin + " " + found.format.reasoning_end;
  };
  EXPECT_EQ(marks("hermes"), "<think> </think>");  // shown in a history
  EXPECT_EQ(marks("mistral-v13"), "[THINK] [/THINK]");
  EXPECT_EQ(marks("seed-oss"), "<seed:think> </seed:think>");
  EXPECT_EQ(marks("command-r7b"), "<|START_THINKING|> <|END_THINKING|>");
  EXPECT_EQ(marks("qwen3-coder"), "<think> </think>");    // opened by the prompt
  EXPECT_EQ(marks("nemotron"), "<think> </think>");       // opened and closed by the prompt
  EXPECT_EQ(marks("deepseek-v3.1"), "<think> </think>");  // with the variable `thinking`
  EXPECT_EQ(marks("gemma4"), "<|channel>thought <channel|>");
  EXPECT_EQ(marks("llama3-json"), " ");
  EXPECT_EQ(marks("llama3-json", {"<think>"}), " ");
  EXPECT_EQ(marks("llama3-json", {"<think>", "</think>"}), "<think> </think>");
  EXPECT_EQ(marks("mistral-nemo", {"[THINK]", "[/THINK]"}), "[THINK] [/THINK]");
  EXPECT_EQ(marks("gpt-oss", {"<think>", "</think>"}), " ");
}

TEST(FindTurnFormat, IgnoresReasoningWithoutMarks) {
  const FoundTurnFormat found = found_in(
      "{% for m in messages %}<|{{ m.role }}|>{{ m.reasoning_content }}{{ m.content }}"
      "{% for t in m.tool_calls or [] %}<call>{{ t.function.name }}{{ t.function.arguments | "
      "tojson }}</call>{% endfor %}<|e|>{% endfor %}");
  EXPECT_EQ(found.problem, "");
  EXPECT_EQ(found.format.reasoning_begin, "");
  EXPECT_EQ(found.format.name, "named-json");
}

TEST(FindTurnFormat, FindsWhatContentStandsBetween) {
  FoundTurnFormat found = found_in(turn_template("command-r7b"));
  EXPECT_EQ(found.format.content_begin + " " + found.format.content_end,
            "<|START_RESPONSE|> <|END_RESPONSE|>");
  found = found_in(
      "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.role == 'user' %}{{ m.content }}"
      "{% else %}<think>\n{{ m.reasoning_content }}\n</think>\n<answer>\n{{ m.content }}\n</answer>"
      "{% endif %}<|im_end|>{% endfor %}"
      "{% if add_generation_prompt %}<|im_start|>assistant\n<think>{% endif %}");
  EXPECT_EQ(found.format.content_begin + " " + found.format.content_end, "<answer> </answer>");
  EXPECT_EQ(found.format.reasoning_begin, "<think>");
  EXPECT_EQ(found.problem, "does not show calls of tools in a history");
  for (std::string_view name : known_format_names()) {
    if (name == "command-r7b") continue;
    found = found_in(turn_template(name));
    EXPECT_EQ(found.format.content_begin + found.format.content_end, "") << name;
  }
  // Marks that stand in a separate message are not marks of reasoning.
  found = found_in(
      "{% for m in messages %}{% if m.reasoning_content %}<|im_start|>{{ m.role }}\n"
      "{{ m.reasoning_content }}<|im_end|>{% endif %}"
      "<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>{% endfor %}");
  EXPECT_EQ(found.format.reasoning_begin + found.format.content_begin, "");
}

TEST(FindTurnFormat, FormsOfNoTableAreNamedByTheirShape) {
  const std::string json =
      "{\"name\": \"{{ c.name }}\", \"arguments\": {{ c.arguments | tojson }}}";
  FoundTurnFormat found = found_in(simple_template("<call>" + json + "</call>"));
  EXPECT_EQ(found.problem, "");
  EXPECT_EQ(found.format.name, "json");
  EXPECT_EQ(found.format.calls->begin, "<call>{\"name\": \"");
  EXPECT_EQ(found.format.calls->end, "}</call>");

  found =
      found_in(simple_template("<c n={{ c.name }}>{% for k, v in c.arguments.items() %}<{{ k }}>"
                               "{{ v if v is string else v | tojson }}</>{% endfor %}</c>"));
  EXPECT_EQ(found.problem, "");
  EXPECT_EQ(found.format.name, "parameters");
  EXPECT_EQ(found.format.calls->parameter, "<");
  EXPECT_EQ(found.format.calls->key_end, ">");
  EXPECT_EQ(found.format.calls->value_end, "</>");

  found = found_in(simple_template(
      "[CALL]{{ c.name }}({% for k, v in c.arguments.items() %}{{ k }}={{ v | tojson }}"
      "{{ ', ' if not loop.last }}{% endfor %})[/CALL]"));
  EXPECT_EQ(found.problem, "");
  EXPECT_EQ(found.format.name, "python");
  EXPECT_EQ(found.format.calls->end, ")[/CALL]");
}

TEST(FindTurnFormat, TakesTextWhereAnObjectIsNotWrittenAsJson) {
  const FoundTurnFormat found = found_in(simple_template(
      "<call>{\"name\": \"{{ c.name }}\", \"arguments\": {{ c.arguments }}}</call>"));
  EXPECT_EQ(found.problem, "");
  EXPECT_TRUE(found.format.history.arguments_as_text);
}

TEST(FindTurnFormat, GivesResultsWhereTheyMustFollow) {
  const FoundTurnFormat found = found_in(
      "{% for m in messages %}{% if m.tool_calls and loop.last %}{{ raise_exception('no') }}"
      "{% endif %}<|{{ m.role }}|>{{ m.content }}{% for t in m.tool_calls or [] %}<tool_call>\n"
      "{\"name\": \"{{ t.function.name }}\", \"arguments\": {{ t.function.arguments | tojson }}}\n"
      "</tool_call>{% endfor %}<|e|>{% endfor %}");
  EXPECT_EQ(found.problem, "");
  EXPECT_TRUE(found.results);
  EXPECT_EQ(found.format.name, "hermes");
}

TEST(FindTurnFormat, SaysWhyThereAreNoCalls) {
  auto problem = [](const std::string& source) {
    const FoundTurnFormat found = found_in(source);
    EXPECT_FALSE(found.format.calls_tools());
    EXPECT_EQ(found.format.name, "content");
    return found.problem;
  };
  EXPECT_EQ(problem(simple_template("")), "does not show calls of tools in a history");
  EXPECT_EQ(problem("{{ messages[0].content }}"), "does not show calls of tools in a history");
  EXPECT_EQ(problem("{{ 'nothing' }}"), "does not show calls of tools in a history");
  EXPECT_EQ(problem(simple_template("<call>{{ c.name }}</call>")),
            "writes the arguments of a call in a way that is not known");
  // The arguments are a JSON string that holds JSON.
  EXPECT_NE(problem(simple_template("<call>{\"name\": \"{{ c.name }}\", \"arguments\": "
                                    "{{ c.arguments | tojson | tojson }}}</call>")),
            "");
  EXPECT_NE(problem(simple_template("{{ raise_exception('No tools, please.') }}"))
                .find("raises an error for a call: "),
            std::string::npos);
}

TEST(FindTurnFormat, RefusesATemplateThatWritesSomeCallsInAnotherWay) {
  const std::string json =
      "{\"name\": \"{{ c.name }}\", \"arguments\": {{ c.arguments | tojson }}}";
  EXPECT_EQ(found_in(simple_template("<call>" + json + "{{ '</end>' if loop.index == 3 }}</call>"))
                .problem,
            "writes three calls unlike other calls");
  EXPECT_EQ(
      found_in(simple_template("<call>{% if c.arguments %}" + json + "{% endif %}</call>")).problem,
      "writes a call without arguments unlike other calls");
  // A number in quotes could not be told from a text.
  EXPECT_EQ(
      found_in(simple_template("<c n={{ c.name }}>{% for k, v in c.arguments.items() %}<{{ k }}>"
                               "{{ v | tojson }}</>{% endfor %}</c>"))
          .problem,
      "writes a call with values of many types unlike other calls");
}

TEST(FindTurnFormat, MarksMayBeginLikeWhatAnswersBeginWith) {
  // The markers "<think>" and "<tool_call>" begin alike, and so do "<|calls|>" and "<|call|>".
  const FoundTurnFormat found = found_in(
      "{% for m in messages %}<|{{ m.role }}|>{% if not m.tool_calls %}<text>{% endif %}"
      "{{ m.content }}{% if m.tool_calls %}<|calls|>{% for t in m.tool_calls %}"
      "<|call|>{{ t.function.name }}<|args|>{{ t.function.arguments | tojson }}<|call_end|>"
      "{% endfor %}<|calls_end|>{% endif %}<|e|>{% endfor %}");
  EXPECT_EQ(found.problem, "");
  EXPECT_EQ(found.format.calls->section_begin, "<|calls|>");
  EXPECT_EQ(found.format.calls->begin, "<|call|>");
  EXPECT_EQ(found.format.calls->end, "<|call_end|>");
  EXPECT_EQ(found.format.calls->section_end, "<|calls_end|>");
}

TEST(KnownFormats, AreFoundByName) {
  EXPECT_EQ(find_known_format("nobody's"), nullptr);
  for (std::string_view name : known_format_names()) {
    const KnownFormat* known = find_known_format(name);
    ASSERT_NE(known, nullptr) << name;
    EXPECT_TRUE(known->format.calls_tools()) << name;
    for (const std::string& control : known->controls) {
      EXPECT_EQ(without_any_space(control), control) << name;
    }
  }
}

TEST(MarkerAtoms, CutsTextWhereMarkersMayEnd) {
  auto atoms = [](std::string_view text) {
    std::string joined;
    for (std::string_view atom : marker_atoms(text)) joined += std::string(atom) + "~";
    return joined;
  };
  EXPECT_EQ(atoms("<tool_call>\n{\"name\""), "<tool_call>~\n~{~\"~name~\"~");
  EXPECT_EQ(atoms("[TOOL_CALLS][{"), "[TOOL_CALLS]~[~{~");
  EXPECT_EQ(atoms("<|\"|>a<b =c>"), "<|\"|>~a~<~b~ ~=~c~>~");
  EXPECT_EQ(common_beginning("<think>\n", "<tool_call>"), 0u);
  EXPECT_EQ(common_ending("<a_begin><x>", "<b_begin><x>"), 3u);
}

TEST(CallTexts, ReadsWholeTurnsOnly) {
  const CallFormat& form = *find_known_format("hermes")->format.calls;
  const TurnProbe probe = make_probe({}, "two calls", {3, 0});
  const std::string one = "<tool_call>{\"name\":\"ring_gong\",\"arguments\":{}}</tool_call>";
  const std::string two =
      "<tool_call>\n{\"name\": \"paint_zeppelin\", \"arguments\": {\"shade\": \"ochre\", \"hue\": "
      "\"mauve\"}}\n</tool_call>";
  EXPECT_TRUE(is_written_so(form, probe.calls, one + "\n\n" + two + "\n"));
  EXPECT_FALSE(is_written_so(form, probe.calls, one + "," + two));
  EXPECT_FALSE(is_written_so(form, probe.calls, one));
  EXPECT_FALSE(is_written_so(form, probe.calls, two + "\n" + one));
  EXPECT_FALSE(is_written_so(form, probe.calls, one + two + "."));
  EXPECT_EQ(json_text_bytes("{\"a}\\\"\": [1]} x"), 13u);
  EXPECT_EQ(json_text_bytes("{\"a\": [1}"), 0u);
  EXPECT_EQ(json_text_bytes("a"), 0u);
}

}  // namespace
}  // namespace hearth
