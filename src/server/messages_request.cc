#include "server/messages_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <charconv>
#include <utility>

#include "base/printable.h"
#include "server/json_fields.h"
#include "server/made_chat.h"
#include "server/messages_history.h"
#include "server/messages_reply.h"

namespace hearth {
namespace {

using boost::json::object;
using boost::json::value;

constexpr size_t kWordBytes = 40;
// The state that the readers of fields share.
struct Making {
  const object& body;
  const RequestLimits& limits;
  MessagesBody made;
};

using ReadMessagesField = void (*)(const value& field, const std::string& name, Making& making);

struct MessagesRule {
  std::string_view name;
  ReadMessagesField read;
};

[[noreturn]] void refuse_word(const std::string& word, const std::string& name,
                              std::string_view words) {
  throw RequestError(kInvalidValue, name,
                     fmt::format("is '{}'; it must be {}", printable(word, kWordBytes), words));
}

void copy_field(const value& field, const std::string& name, Making& making) {
  making.made.chat[name] = field;
}

void read_stop_sequences(const value& field, const std::string& name, Making& making) {
  making.made.chat["stop"] = array_field(field, name, 0, making.limits.stops);
}

void read_messages_field(const value&, const std::string&, Making& making) {
  MessagesHistory history = read_messages_history(making.body, making.limits.messages);
  making.made.chat["messages"] = std::move(history.messages);
  making.made.names.messages = std::move(history.from);
  if (history.goes_on) making.made.chat["continue_final_message"] = true;
}

// Refuses the field `thread`, which continues a conversation that the server would have kept:
// without it the answer would be wrong.
void refuse_thread(const value&, const std::string& name, Making&) {
  throw RequestError(kThreadCode, name,
                     "refers to a stored conversation, and this server stores none; leave it out, "
                     "and send all messages");
}

// Reads whether the model shall reason. The budget of tokens is ignored, as it cannot be set.
void read_thinking_switch(const value& field, const std::string& name, Making& making) {
  const std::string param = name + ".type";
  const std::string type =
      text_field(require_field(object_field(field, name), "type", param), param);
  if (type == "adaptive") return;
  const bool thinks = type == "enabled";
  if (!thinks && type != "disabled") refuse_word(type, param, "enabled, disabled or adaptive");
  making.made.chat["chat_template_kwargs"] =
      object{{"enable_thinking", thinks}, {"thinking", thinks}};
}

void read_messages_format(const value& field, const std::string& name, Making& making) {
  const object& format = object_field(field, name);
  std::string param = name + ".type";
  const std::string type = text_field(require_field(format, "type", param), param);
  if (type != "json_schema") refuse_unsupported(param, "give it json_schema");
  param = name + ".schema";
  const value& schema = require_field(format, "schema", param);
  object_field(schema, param);
  if (making.made.chat.contains("response_format")) {
    throw RequestError(
        kInvalidValue, name,
        fmt::format("cannot be combined with {}; leave one of them out", making.made.names.schema));
  }
  making.made.chat["response_format"] =
      object{{"type", "json_schema"}, {"json_schema", object{{"schema", schema}}}};
  making.made.names.schema = param;
}

void read_messages_effort(const value& field, const std::string& name, Making& making) {
  const std::string effort = text_field(field, name);
  const bool most = effort == "xhigh" || effort == "max";
  if (!most && effort != "low" && effort != "medium" && effort != "high") {
    refuse_word(effort, name, "low, medium, high, xhigh or max");
  }
  making.made.chat["reasoning_effort"] = most ? "high" : effort;
}

void read_output_config(const value& field, const std::string& name, Making& making) {
  const object& output = object_field(field, name);
  if (const value* effort = find_field(output, "effort")) {
    read_messages_effort(*effort, name + ".effort", making);
  }
  if (const value* format = find_field(output, "format")) {
    read_messages_format(*format, name + ".format", making);
  }
}

constexpr std::pair<std::string_view, std::string_view> kToolMembers[] = {
    {"name", "name"},
    {"description", "description"},
    {"input_schema", "parameters"},
    {"strict", "strict"},
};

// Returns a tool in the chat's form, with only those members that a model sees: others may change
// between requests.
object chat_tool(const object& tool) {
  object function;
  for (const auto& [theirs, ours] : kToolMembers) {
    if (const value* member = find_field(tool, theirs)) function[ours] = *member;
  }
  return {{"type", "function"}, {"function", std::move(function)}};
}

void read_messages_tools(const value& field, const std::string& name, Making& making) {
  if (!field.is_array()) refuse_type(field, name, "an array");
  boost::json::array tools;
  for (size_t i = 0; i < field.get_array().size(); ++i) {
    const std::string entry = entry_name(name, i);
    const object& tool = object_field(field.get_array()[i], entry);
    const value* type = find_field(tool, "type");
    const std::string kind = type != nullptr ? text_field(*type, entry + ".type") : "custom";
    if (kind == "custom") {
      tools.push_back(chat_tool(tool));
      making.made.names.tools.push_back(i);
    } else {
      making.made.ignored.push_back(fmt::format("{}: {}", entry, printable(kind, kWordBytes)));
    }
  }
  if (!tools.empty()) making.made.chat["tools"] = std::move(tools);
}

// Reads tool_choice, after `tools`.
void read_messages_choice(const value& field, const std::string& name, Making& making) {
  const object& choice = object_field(field, name);
  std::string param = name + ".type";
  const std::string type = text_field(require_field(choice, "type", param), param);
  object& chat = making.made.chat;
  if (type == "tool") {
    param = name + ".name";
    const value& tool = require_field(choice, "name", param);
    chat["tool_choice"] = object{{"type", "function"}, {"function", object{{"name", tool}}}};
  } else if (type == "auto" || type == "none") {
    chat["tool_choice"] = type;
  } else if (type == "any") {
    chat["tool_choice"] = "required";
  } else {
    refuse_word(type, param, "auto, any, tool or none");
  }
  if (const value* single = find_field(choice, "disable_parallel_tool_use")) {
    chat["parallel_tool_calls"] = !bool_field(*single, name + ".disable_parallel_tool_use");
  }
}

// The readers of fields. copy_field takes over fields that have the same name and meaning in a
// chat's body.
constexpr MessagesRule kMessagesRules[] = {
    {"thread", refuse_thread},
    {"model", copy_field},
    {"max_tokens", copy_field},
    {"temperature", copy_field},
    {"top_p", copy_field},
    {"top_k", copy_field},
    {"stream", copy_field},
    {"stop_sequences", read_stop_sequences},
    {"messages", read_messages_field},
    {"system", [](const value&, const std::string&, Making&) {}},  // read with the messages
    {"thinking", read_thinking_switch},
    {"output_config", read_output_config},
    {"output_format", read_messages_format},
    {"tools", read_messages_tools},
    {"tool_choice", read_messages_choice},
    {"return_progress", copy_field},  // a chat's field, not Anthropic's
};

// Takes "tools[12]" off the front of the text if it begins with `array` and a bracket, and returns
// whether it did; `index` becomes 12.
bool take_index(std::string_view array, std::string_view* text, size_t* index) {
  if (!text->starts_with(array) || text->substr(array.size(), 1) != "[") return false;
  const std::string_view digits = text->substr(array.size() + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), *index);
  const auto used = static_cast<size_t>(end - digits.data());
  if (error != std::errc() || digits.substr(used, 1) != "]") return false;
  *text = digits.substr(used + 1);
  return true;
}

bool take(std::string_view begin, std::string_view* text) {
  if (!text->starts_with(begin)) return false;
  text->remove_prefix(begin.size());
  return true;
}

// Removes the rest of a field's path from the front of the text.
void skip_path(std::string_view* text) {
  text->remove_prefix(std::min(text->find_first_of(": "), text->size()));
}

}  // namespace

std::string MessagesNames::translated(std::string_view text) const {
  const std::string given(text);
  size_t index = 0;
  if (take_index("tools", &text, &index) && index < tools.size() && take(".function", &text)) {
    const std::string entry = entry_name("tools", tools[index]);
    const char* member = take(".parameters", &text) ? ".input_schema" : "";
    return entry + member + std::string(text);
  }
  text = given;
  if (take_index("messages", &text, &index) && index < messages.size()) {
    skip_path(&text);
    if (messages[index] == MessagesHistory::kFromSystem) return "system" + std::string(text);
    return entry_name("messages", messages[index]) + ".content" + std::string(text);
  }
  text = given;
  if (take("tool_choice.function", &text)) return "tool_choice" + std::string(text);
  if (take("response_format.json_schema.schema", &text)) return schema + std::string(text);
  if (take("continue_final_message", &text) && !messages.empty()) {
    return entry_name("messages", messages.back()) + ".content" + std::string(text);
  }
  if (take("stop", &text) && (text.empty() || text[0] == '[' || text[0] == ' ')) {
    return "stop_sequences" + std::string(text);
  }
  return given;
}

ApiError MessagesNames::translated(ApiError error) const {
  return with_own_names(*this, std::move(error));
}

MessagesBody read_messages_body(std::string_view body, const RequestLimits& limits,
                                MessagesWish wish) {
  const object read = read_object(body, limits.depth);
  Making making{read, limits, {}};
  if (wish == MessagesWish::kAnswer) require_field(read, "max_tokens", "max_tokens");
  require_field(read, "messages", "messages");
  for (const MessagesRule& rule : kMessagesRules) {
    const value* field = find_field(read, rule.name);
    if (field != nullptr) rule.read(*field, std::string(rule.name), making);
  }
  return std::move(making.made);
}

CompletionCall read_messages_call(const MessagesBody& body, const SamplingParams& defaults,
                                  const RequestLimits& limits, uint32_t vocabulary) {
  return read_made_chat(body.chat, body.names, defaults, limits, vocabulary);
}

std::vector<std::string_view> messages_field_names() {
  std::vector<std::string_view> names;
  for (const MessagesRule& rule : kMessagesRules) names.push_back(rule.name);
  return names;
}

}  // namespace hearth
