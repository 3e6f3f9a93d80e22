#include "server/text_calls.h"

#include "server/chat_messages.h"
#include "server/json_fields.h"
#include "server/sampling_fields.h"
#include "server/tool_fields.h"

namespace hearth {

TokenizeCall read_tokenize_call(std::string_view body, const RequestLimits& limits) {
  boost::json::object object = read_object(body, limits.depth);
  TokenizeCall call;
  const char* name =
      find_field(object, "content") == nullptr && find_field(object, "prompt") != nullptr
          ? "prompt"
          : "content";
  call.text = text_field(require_field(object, name, name), name);
  if (const boost::json::value* add = find_field(object, "add_special")) {
    call.add_special = bool_field(*add, "add_special");
  }
  if (const boost::json::value* parse = find_field(object, "parse_special")) {
    call.parse_special = bool_field(*parse, "parse_special");
  }
  return call;
}

std::vector<int32_t> read_detokenize_call(std::string_view body, const RequestLimits& limits,
                                          uint32_t vocabulary) {
  boost::json::object object = read_object(body, limits.depth);
  const boost::json::value& tokens = require_field(object, "tokens", "tokens");
  if (!tokens.is_array()) refuse_type(tokens, "tokens", "an array of ids");
  return ids_field(tokens.get_array(), "tokens", vocabulary);
}

TemplateCall read_template_call(std::string_view body, const RequestLimits& limits) {
  boost::json::object object = read_object(body, limits.depth);
  TemplateCall call;
  call.messages = read_messages(object, limits.messages);
  if (const boost::json::value* kwargs = find_field(object, "chat_template_kwargs")) {
    call.template_kwargs = object_field(*kwargs, "chat_template_kwargs");
  }
  TurnOrder order;
  if (const boost::json::value* tools = find_field(object, "tools")) {
    read_tools(*tools, "tools", limits.tools, &order, &call.template_kwargs);
  }
  if (const boost::json::value* choice = find_field(object, "tool_choice")) {
    read_tool_choice(*choice, "tool_choice", &order, &call.template_kwargs);
  }
  if (const boost::json::value* effort = find_field(object, "reasoning_effort")) {
    read_reasoning_effort(*effort, "reasoning_effort", &call.template_kwargs);
  }
  constexpr const char* kPrompt = "add_generation_prompt";
  if (const boost::json::value* wish = find_field(object, kPrompt)) {
    read_generation_prompt(*wish, kPrompt, &call.template_kwargs);
  }
  constexpr const char* kContinue = "continue_final_message";
  if (const boost::json::value* wish = find_field(object, kContinue)) {
    call.continue_final = read_continue_final(*wish, kContinue, &call.template_kwargs);
  }
  return call;
}

}  // namespace hearth
