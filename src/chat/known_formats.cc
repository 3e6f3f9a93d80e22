// The forms of turns that many models share, as data.
#include <utility>

#include "chat/turn_format.h"

namespace hearth {
namespace {

struct KnownReasoning {
  std::string begin, end;
};

const KnownReasoning kNoReasoning;
const KnownReasoning kThink = {"<think>", "</think>"};

KnownFormat known_form(std::string_view name, const KnownReasoning& reasoning, CallFormat calls,
                       std::vector<std::string> controls, HistoryFormat history = {}) {
  TurnFormat format;
  format.name = name;
  format.reasoning_begin = reasoning.begin;
  format.reasoning_end = reasoning.end;
  format.calls = std::move(calls);
  format.history = std::move(history);
  return {.format = std::move(format), .controls = std::move(controls)};
}

CallFormat json_in_tags() {
  return {.separator = "\n",
          .begin = "<tool_call>\n{\"name\": \"",
          .name_end = "\", \"arguments\": ",
          .end = "}\n</tool_call>"};
}

void add_json_forms(std::vector<KnownFormat>* forms) {
  forms->push_back(known_form("hermes", kThink, json_in_tags(),
                              {"<tool_call>", "</tool_call>", "<think>", "</think>"}));
  forms->push_back(
      known_form("granite-4", kNoReasoning, json_in_tags(), {"<tool_call>", "</tool_call>"}));
  forms->push_back(known_form(
      "llama3-json", kNoReasoning,
      {.begin = "{\"name\": \"", .name_end = "\", \"parameters\": ", .end = "}", .one = true},
      {"<|python_tag|>"}));
  forms->push_back(known_form("mistral-nemo", kNoReasoning,
                              {.section_begin = "[TOOL_CALLS][",
                               .separator = ", ",
                               .section_end = "]",
                               .begin = "{\"name\": \"",
                               .name_end = "\", \"arguments\": ",
                               .end = "}",
                               .id_place = IdPlace::kBehindArguments,
                               .id_begin = ", \"id\": \"",
                               .id_end = "\""},
                              {"[TOOL_CALLS]"}, {.id_length = 9}));
  forms->push_back(known_form("nemotron", kThink,
                              {.section_begin = "<TOOLCALL>[",
                               .separator = ", ",
                               .section_end = "]</TOOLCALL>",
                               .begin = "{\"name\": \"",
                               .name_end = "\", \"arguments\": ",
                               .end = "}"},
                              {"<think>", "</think>"}));
  forms->push_back(known_form("command-r7b", {"<|START_THINKING|>", "<|END_THINKING|>"},
                              {.section_begin = "<|START_ACTION|>[\n    ",
                               .separator = ",\n    ",
                               .section_end = "\n]<|END_ACTION|>",
                               .begin = "{\"tool_call_id\": \"",
                               .name_end = "\", \"parameters\": ",
                               .end = "}",
                               .id_place = IdPlace::kBeforeName,
                               .id_end = "\", \"tool_name\": \""},
                              {"<|START_ACTION|>", "<|END_ACTION|>", "<|START_THINKING|>",
                               "<|END_THINKING|>", "<|START_RESPONSE|>", "<|END_RESPONSE|>"},
                              {.reasoning_key = "tool_plan"}));
  forms->back().format.content_begin = "<|START_RESPONSE|>";
  forms->back().format.content_end = "<|END_RESPONSE|>";
  forms->push_back(
      known_form("apertus", {"<|inner_prefix|>", "<|inner_suffix|>"},
                 {.section_begin = "<|tools_prefix|>[",
                  .separator = ", ",
                  .section_end = "]<|tools_suffix|>",
                  .begin = "{\"",
                  .name_end = "\": ",
                  .end = "}"},
                 {"<|tools_prefix|>", "<|tools_suffix|>", "<|inner_prefix|>", "<|inner_suffix|>"}));
}

// Adds forms in which a call is its name followed by JSON.
void add_named_forms(std::vector<KnownFormat>* forms) {
  forms->push_back(known_form("functionary-v3.1", kNoReasoning,
                              {.begin = "<function=", .name_end = ">", .end = "</function>"}, {}));
  forms->push_back(known_form("mistral-v11", kNoReasoning,
                              {.begin = "[TOOL_CALLS]",
                               .name_end = "[ARGS]",
                               .id_place = IdPlace::kBehindName,
                               .id_begin = "[CALL_ID]"},
                              {"[TOOL_CALLS]", "[CALL_ID]", "[ARGS]"}, {.id_length = 9}));
  forms->push_back(known_form("mistral-v13", {"[THINK]", "[/THINK]"},
                              {.begin = "[TOOL_CALLS]", .name_end = "[ARGS]"},
                              {"[TOOL_CALLS]", "[ARGS]", "[THINK]", "[/THINK]"}, {.id_length = 9}));
  const std::vector<std::string> deepseek = {"<｜tool▁calls▁begin｜>",
                                             "<｜tool▁call▁begin｜>",
                                             "<｜tool▁sep｜>",
                                             "<｜tool▁call▁end｜>",
                                             "<｜tool▁calls▁end｜>",
                                             "<think>",
                                             "</think>"};
  forms->push_back(known_form("deepseek-v3", kThink,
                              {.section_begin = "<｜tool▁calls▁begin｜>",
                               .separator = "\n",
                               .section_end = "<｜tool▁calls▁end｜>",
                               .begin = "<｜tool▁call▁begin｜>function<｜tool▁sep｜>",
                               .name_end = "\n```json\n",
                               .end = "\n```<｜tool▁call▁end｜>"},
                              deepseek, {.arguments_as_text = true}));
  forms->push_back(known_form("deepseek-v3.1", kThink,
                              {.section_begin = "<｜tool▁calls▁begin｜>",
                               .section_end = "<｜tool▁calls▁end｜>",
                               .begin = "<｜tool▁call▁begin｜>",
                               .name_end = "<｜tool▁sep｜>",
                               .end = "<｜tool▁call▁end｜>"},
                              deepseek));
  forms->push_back(known_form(
      "kimi-k2", kThink,
      {.section_begin = "<|tool_calls_section_begin|>",
       .section_end = "<|tool_calls_section_end|>",
       .begin = "<|tool_call_begin|>",
       .name_end = "<|tool_call_argument_begin|>",
       .end = "<|tool_call_end|>",
       .id_place = IdPlace::kAroundName,
       .id_begin = "functions."},
      {"<|tool_calls_section_begin|>", "<|tool_call_begin|>", "<|tool_call_argument_begin|>",
       "<|tool_call_end|>", "<|tool_calls_section_end|>", "<think>", "</think>"}));
}

void add_parameter_forms(std::vector<KnownFormat>* forms) {
  forms->push_back(known_form("qwen3-coder", kThink,
                              {.separator = "\n",
                               .begin = "<tool_call>\n<function=",
                               .name_end = ">\n",
                               .end = "</function>\n</tool_call>",
                               .arguments = ArgumentForm::kParameters,
                               .parameter = "<parameter=",
                               .key_end = ">\n",
                               .value_end = "\n</parameter>\n"},
                              {"<tool_call>", "</tool_call>", "<think>", "</think>"}));
  forms->push_back(
      known_form("seed-oss", {"<seed:think>", "</seed:think>"},
                 {.separator = "\n",
                  .begin = "<seed:tool_call>\n<function=",
                  .name_end = ">\n",
                  .end = "</function>\n</seed:tool_call>",
                  .arguments = ArgumentForm::kParameters,
                  .parameter = "<parameter=",
                  .key_end = ">",
                  .value_end = "</parameter>\n"},
                 {"<seed:tool_call>", "</seed:tool_call>", "<seed:think>", "</seed:think>"}));
  forms->push_back(
      known_form("minimax-m2", kThink,
                 {.section_begin = "<minimax:tool_call>\n",
                  .section_end = "</minimax:tool_call>",
                  .begin = "<invoke name=\"",
                  .name_end = "\">\n",
                  .end = "</invoke>\n",
                  .arguments = ArgumentForm::kParameters,
                  .parameter = "<parameter name=\"",
                  .key_end = "\">",
                  .value_end = "</parameter>\n"},
                 {"<minimax:tool_call>", "</minimax:tool_call>", "<think>", "</think>"}));
  forms->push_back(known_form("glm-4.5", kThink,
                              {.separator = "\n",
                               .begin = "<tool_call>",
                               .name_end = "\n",
                               .end = "</tool_call>",
                               .arguments = ArgumentForm::kParameters,
                               .parameter = "<arg_key>",
                               .key_end = "</arg_key>\n<arg_value>",
                               .value_end = "</arg_value>\n"},
                              {"<tool_call>", "</tool_call>", "<arg_key>", "</arg_key>",
                               "<arg_value>", "</arg_value>", "<think>", "</think>"}));
  forms->push_back(known_form("deepseek-dsml", kThink,
                              {.section_begin = "<｜DSML｜function_calls>\n",
                               .section_end = "</｜DSML｜function_calls>",
                               .begin = "<｜DSML｜invoke name=\"",
                               .name_end = "\">\n",
                               .end = "</｜DSML｜invoke>\n",
                               .arguments = ArgumentForm::kParameters,
                               .parameter = "<｜DSML｜parameter name=\"",
                               .key_end = "\" string=\"true\">",
                               .value_end = "</｜DSML｜parameter>\n",
                               .json_key_end = "\" string=\"false\">"},
                              {"｜DSML｜", "<think>", "</think>"}));
}

void add_other_forms(std::vector<KnownFormat>* forms) {
  forms->push_back(
      known_form("gemma4", {"<|channel>thought", "<channel|>"},
                 {.begin = "<|tool_call>call:",
                  .name_end = "{",
                  .end = "}<tool_call|>",
                  .arguments = ArgumentForm::kDictionary,
                  .quote = "<|\"|>"},
                 {"<|tool_call>", "<tool_call|>", "<|\"|>", "<|channel>", "<channel|>"}));
  forms->push_back(known_form("lfm2", kThink,
                              {.section_begin = "<|tool_call_start|>[",
                               .separator = ", ",
                               .section_end = "]<|tool_call_end|>",
                               .name_end = "(",
                               .end = ")",
                               .arguments = ArgumentForm::kPython},
                              {"<|tool_call_start|>", "<|tool_call_end|>", "<think>", "</think>"}));
  TurnFormat harmony;
  harmony.name = "gpt-oss";
  harmony.harmony = true;
  harmony.history.reasoning_key = "thinking";
  forms->push_back({.format = std::move(harmony),
                    .controls = {"<|start|>", "<|end|>", "<|channel|>", "<|message|>",
                                 "<|constrain|>", "<|call|>", "<|return|>"}});
}

std::vector<KnownFormat> all_known_forms() {
  std::vector<KnownFormat> forms;
  add_json_forms(&forms);
  add_named_forms(&forms);
  add_parameter_forms(&forms);
  add_other_forms(&forms);
  return forms;
}

const std::vector<KnownFormat>& known_forms() {
  static const std::vector<KnownFormat> forms = all_known_forms();
  return forms;
}

}  // namespace

const KnownFormat* find_known_format(std::string_view name) {
  for (const KnownFormat& known : known_forms()) {
    if (known.format.name == name) return &known;
  }
  return nullptr;
}

std::vector<std::string_view> known_format_names() {
  std::vector<std::string_view> names;
  for (const KnownFormat& known : known_forms()) names.push_back(known.format.name);
  return names;
}

}  // namespace hearth
