#include "server/chat_messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/printable.h"
#include "server/json_fields.h"

namespace hearth {
namespace {

constexpr std::string_view kOnlyText = "send text parts";
constexpr std::string_view kNoTools = "tools are not supported; leave them out";

std::string read_role(const boost::json::object& message, const std::string& name) {
  std::string param = name + ".role";
  std::string role = text_field(require_field(message, "role", param), param);
  if (role == "developer") return "system";
  if (role == "tool" || role == "function") refuse_unsupported(param, kNoTools);
  if (role != "system" && role != "user" && role != "assistant") {
    throw RequestError(kInvalidValue, param,
                       fmt::format("is '{}'; it must be system, developer, user or assistant",
                                   printable(role, 40)));
  }
  return role;
}

std::string read_part(const boost::json::value& value, const std::string& name) {
  const boost::json::object& part = object_field(value, name);
  std::string param = name + ".type";
  std::string type = text_field(require_field(part, "type", param), param);
  if (type != "text") refuse_unsupported(param, kOnlyText);
  param = name + ".text";
  return text_field(require_field(part, "text", param), param);
}

std::string read_content(const boost::json::object& message, const std::string& name) {
  std::string param = name + ".content";
  const boost::json::value& content = require_field(message, "content", param);
  if (content.is_string()) return text_field(content, param);
  if (!content.is_array()) refuse_type(content, param, "a string or an array of text parts");
  std::string text;
  const boost::json::array& parts = content.get_array();
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += '\n';
    text += read_part(parts[i], entry_name(param, i));
  }
  return text;
}

bool is_empty_array(const boost::json::value& value) {
  return value.is_array() && value.get_array().empty();
}

void refuse_tools(const boost::json::object& message, const std::string& name) {
  for (std::string_view field : {"tool_calls", "function_call", "tool_call_id"}) {
    const boost::json::value* value = find_field(message, field);
    if (value != nullptr && !is_empty_array(*value)) {
      refuse_unsupported(fmt::format("{}.{}", name, field), kNoTools);
    }
  }
  if (find_field(message, "audio") != nullptr) refuse_unsupported(name + ".audio", kOnlyText);
}

boost::json::object read_message(const boost::json::value& value, const std::string& name) {
  constexpr std::array<std::string_view, 6> kTaken = {"role",          "content",      "tool_calls",
                                                      "function_call", "tool_call_id", "audio"};
  const boost::json::object& message = object_field(value, name);
  boost::json::object read;
  read["role"] = read_role(message, name);
  refuse_tools(message, name);
  read["content"] = read_content(message, name);
  for (const auto& member : message) {
    std::string_view key(member.key().data(), member.key().size());
    bool taken = std::ranges::find(kTaken, key) != kTaken.end();
    if (!taken && !member.value().is_null()) read.emplace(member.key(), member.value());
  }
  return read;
}

}  // namespace

boost::json::array read_messages(const boost::json::object& body, size_t most) {
  const boost::json::array& messages =
      array_field(require_field(body, "messages", "messages"), "messages", 1, most);
  boost::json::array read;
  read.reserve(messages.size());
  for (size_t i = 0; i < messages.size(); ++i) {
    read.push_back(read_message(messages[i], entry_name("messages", i)));
  }
  return read;
}

void read_generation_prompt(const boost::json::value& field, const std::string& name,
                            boost::json::object* kwargs) {
  kwargs->emplace(name, bool_field(field, name));
}

bool read_continue_final(const boost::json::value& field, const std::string& name,
                         boost::json::object* kwargs) {
  if (!bool_field(field, name)) return false;
  constexpr std::string_view kPrompt = "add_generation_prompt";
  const boost::json::value* prompt = find_field(*kwargs, kPrompt);
  if (prompt != nullptr && prompt->is_bool() && prompt->get_bool()) {
    throw RequestError(kInvalidValue, name,
                       "is given with add_generation_prompt, which begins another message; leave "
                       "one of them out");
  }
  (*kwargs)[kPrompt] = false;
  return true;
}

void end_with_final_message(const boost::json::array& messages, RenderedChat* chat) {
  const boost::json::object& last = messages.back().as_object();
  const boost::json::value* content = last.if_contains("content");
  std::string text;
  if (content != nullptr && content->is_string()) {
    text.assign(content->get_string().data(), content->get_string().size());
  }
  size_t begin = chat->text.rfind(text);
  if (begin == std::string::npos) {  // some templates trim it
    size_t first = text.find_first_not_of(" \t\r\n"), end = text.find_last_not_of(" \t\r\n");
    text = first == std::string::npos ? "" : text.substr(first, end - first + 1);
    begin = chat->text.rfind(text);
  }
  if (text.empty() || begin == std::string::npos) {
    throw RequestError(kInvalidValue, "continue_final_message",
                       "needs a last message whose content the chat template shows as it is; leave "
                       "it out");
  }
  size_t size = begin + text.size();
  chat->text.resize(size);
  std::erase_if(chat->foreign, [&](const auto& range) { return range.first >= size; });
  if (!chat->foreign.empty()) {
    chat->foreign.back().second = std::min(chat->foreign.back().second, size);
  }
}

}  // namespace hearth
