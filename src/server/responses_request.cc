#include "server/responses_request.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <span>

#include "base/printable.h"
#include "server/json_fields.h"
#include "server/made_chat.h"
#include "server/responses_input.h"
#include "server/responses_tools.h"

namespace hearth {
namespace {

using boost::json::object;
using boost::json::value;

constexpr size_t kMaxIncluded = 64;
constexpr std::string_view kKeepsNothing =
    "it stores no responses: send the whole conversation as input";

using ReadAsk = void (*)(const value& field, const std::string& name, ResponsesBody* read);

struct AskRule {
  std::string_view name;
  ReadAsk read;
};

// Copies a field that a chat's body has with the same name and form.
void ask_same(const value& field, const std::string& name, ResponsesBody* read) {
  read->chat[name] = field;
}

void ask_parallel(const value& field, const std::string& name, ResponsesBody* read) {
  read->chat[name] = field;
  read->echo.members[name] = field;
}

void ask_max_tokens(const value& field, const std::string& name, ResponsesBody* read) {
  read->chat["max_tokens"] = field;
  read->echo.members[name] = field;
}

void ask_text(const value& field, const std::string& name, ResponsesBody* read) {
  const object& text = object_field(field, name);
  object& echo = read->echo.members[name].as_object();
  if (const value* verbosity = find_field(text, "verbosity")) {
    echo["verbosity"] = text_field(*verbosity, name + ".verbosity");
  }
  const value* given = find_field(text, "format");
  if (given == nullptr) return;
  const std::string param = name + ".format";
  object format = object_field(*given, param);
  read->chat["response_format"] = format;
  const value* type = find_field(format, "type");
  if (type != nullptr && type->is_string() && type->get_string() == "json_schema") {
    require_field(format, "schema", param + ".schema");
    if (find_field(format, "name") == nullptr) format["name"] = "answer";
  }
  echo["format"] = std::move(format);
}

// Reads reasoning.summary; clients with a setting for it send "none" to get none.
void ask_summary(const value& field, const std::string& name, ResponsesBody* read) {
  const std::string asked = text_field(field, name + ".summary");
  read->echo.summary = asked == "auto" || asked == "concise" || asked == "detailed";
  if (!read->echo.summary && asked != "none") {
    throw RequestError(
        kInvalidValue, name + ".summary",
        fmt::format("is '{}'; it must be auto, concise, detailed or none", printable(asked, 40)));
  }
  read->echo.members[name].as_object()["summary"] = asked;
}

// Reads reasoning. The effort "max" becomes the highest one of a chat.
void ask_reasoning(const value& field, const std::string& name, ResponsesBody* read) {
  const object& reasoning = object_field(field, name);
  if (const value* summary = find_field(reasoning, "summary")) ask_summary(*summary, name, read);
  const value* effort = find_field(reasoning, "effort");
  if (effort == nullptr) return;
  const std::string asked = text_field(*effort, name + ".effort");
  read->chat["reasoning_effort"] = asked == "max" ? "xhigh" : asked;
  read->echo.members[name].as_object()["effort"] = asked;
}

void ask_metadata(const value& field, const std::string& name, ResponsesBody* read) {
  for (const auto& member : object_field(field, name)) {
    text_field(member.value(), fmt::format("{}.{}", name, std::string_view(member.key())));
  }
  read->echo.members[name] = field;
}

void ask_word(const value& field, const std::string& name, ResponsesBody* read) {
  read->echo.members[name] = text_field(field, name);
}

void ask_store(const value& field, const std::string& name, ResponsesBody*) {
  bool_field(field, name);
}

void ask_background(const value& field, const std::string& name, ResponsesBody*) {
  if (bool_field(field, name)) refuse_unsupported(name, "leave it out, and stream the answer");
}

void ask_kept(const value&, const std::string& name, ResponsesBody*) {
  refuse_unsupported(name, kKeepsNothing);
}

void ask_prompt(const value&, const std::string& name, ResponsesBody*) {
  refuse_unsupported(name, "it stores no prompts: send the text as instructions or input");
}

void ask_top_logprobs(const value& field, const std::string& name, ResponsesBody*) {
  constexpr int64_t kMaxTopLogprobs = 20;
  if (integer_field(field, name, 0, kMaxTopLogprobs) > 0) {
    refuse_unsupported(name, "leave it out, or ask /v1/chat/completions for logprobs");
  }
}

// Reads include. reasoning.encrypted_content has an effect, logprobs are refused; other entries are
// ignored, since the server has no such data or always returns it.
void ask_include(const value& field, const std::string& name, ResponsesBody* read) {
  const boost::json::array& included = array_field(field, name, 0, kMaxIncluded);
  for (size_t i = 0; i < included.size(); ++i) {
    const std::string entry = entry_name(name, i);
    const std::string asked = text_field(included[i], entry);
    if (asked == "reasoning.encrypted_content") read->echo.carried = true;
    if (asked == "message.output_text.logprobs") {
      refuse_unsupported(entry, "leave it out, or ask /v1/chat/completions for logprobs");
    }
  }
}

// The readers of fields; `input` and `instructions` are read apart.
constexpr AskRule kAskRules[] = {
    {"previous_response_id", ask_kept},
    {"conversation", ask_kept},
    {"prompt", ask_prompt},
    {"background", ask_background},
    {"top_logprobs", ask_top_logprobs},
    {"include", ask_include},
    {"store", ask_store},
    {"model", ask_same},
    {"stream", ask_same},
    {"max_output_tokens", ask_max_tokens},
    {"temperature", ask_same},
    {"top_p", ask_same},
    {"text", ask_text},
    {"reasoning", ask_reasoning},
    {"tools", read_responses_tools},
    {"tool_choice", read_responses_tool_choice},
    {"parallel_tool_calls", ask_parallel},
    {"metadata", ask_metadata},
    {"user", ask_word},
    {"safety_identifier", ask_word},
    {"prompt_cache_key", ask_word},
    // Fields that in OpenAI's API only chat completions have.
    {"top_k", ask_same},
    {"min_p", ask_same},
    {"seed", ask_same},
    {"stop", ask_same},
    {"repetition_penalty", ask_same},
    {"presence_penalty", ask_same},
    {"frequency_penalty", ask_same},
    {"chat_template_kwargs", ask_same},
    {"return_progress", ask_same},
};

// Returns the values that a reply repeats for fields missing in the request.
object silent_echo() {
  return {{"instructions", nullptr},
          {"previous_response_id", nullptr},
          {"background", false},
          {"store", false},
          {"max_output_tokens", nullptr},
          {"parallel_tool_calls", true},
          {"reasoning", {{"effort", nullptr}, {"summary", nullptr}}},
          {"text", object{{"format", object{{"type", "text"}}}}},
          {"tool_choice", "auto"},
          {"tools", boost::json::array()},
          {"top_logprobs", 0},
          {"truncation", "disabled"},
          {"metadata", object()}};
}

}  // namespace

ResponsesBody read_responses_body(std::string_view body, const RequestLimits& limits) {
  const object asked = read_object(body, limits.depth);
  ResponsesBody read;
  read.echo.members = silent_echo();
  for (const AskRule& rule : kAskRules) {
    const value* field = find_field(asked, rule.name);
    if (field != nullptr) rule.read(*field, std::string(rule.name), &read);
  }
  std::string instructions;
  if (const value* field = find_field(asked, "instructions")) {
    instructions = text_field(*field, "instructions");
    read.echo.members["instructions"] = instructions;
  }
  read_responses_input(require_field(asked, "input", "input"), instructions, &read);
  return read;
}

CompletionCall read_responses_call(const ResponsesBody& body, const SamplingParams& defaults,
                                   const RequestLimits& limits, uint32_t vocabulary) {
  return read_made_chat(body.chat, body.names, defaults, limits, vocabulary);
}

std::vector<std::string_view> responses_field_names() {
  std::vector<std::string_view> names = {"input", "instructions"};
  for (const AskRule& rule : kAskRules) names.push_back(rule.name);
  return names;
}

}  // namespace hearth
