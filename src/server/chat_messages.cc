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

constexpr std::string_view kOnlyText = "no images, sound or files are read: send text parts";
constexpr size_t kMaxCalls = 128;  // the most calls in one message

std::string read_role(const boost::json::object& message, const std::string& name) {
  std::string param = name + ".role";
  std::string role = text_field(require_field(message, "role", param), param);
  if (role == "developer") return "system";
  if (role == "function") refuse_unsupported(param, "send a tool's result with the role tool");
  if (role != "system" && role != "user" && role != "assistant" && role != "tool") {
    throw RequestError(kInvalidValue, param,
                       fmt::format("is '{}'; it must be system, developer, user, assistant or tool",
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

std::string read_content(const boost::json::value& content, const std::string& param) {
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

boost::json::object read_call(const boost::json::value& field, const std::string& name) {
  const boost::json::object& call = object_field(field, name);
  std::string param = name + ".type";
  const boost::json::value* type = find_field(call, "type");
  if (type != nullptr && text_field(*type, param) != "function") {
    refuse_unsupported(param, "send calls of the type function");
  }
  boost::json::object read;
  param = name + ".id";
  read["id"] = text_field(require_field(call, "id", param), param);
  read["type"] = "function";
  param = name + ".function";
  const boost::json::object& function = object_field(require_field(call, "function", param), param);
  boost::json::object& inner = read["function"].emplace_object();
  const std::string at = param + ".name";
  inner["name"] = text_field(require_field(function, "name", at), at);
  param += ".arguments";
  const boost::json::value& arguments = require_field(function, "arguments", param);
  if (!arguments.is_string() && !arguments.is_object()) {
    refuse_type(arguments, param, "a string, the JSON text of an object");
  }
  inner["arguments"] = arguments;
  return read;
}

// Returns the `tool_calls` of a message; an empty array where it has none.
boost::json::array read_calls(const boost::json::object& message, const std::string& role,
                              const std::string& name) {
  const boost::json::value* field = find_field(message, "tool_calls");
  if (field == nullptr) return {};
  const std::string param = name + ".tool_calls";
  const boost::json::array& calls = array_field(*field, param, 0, kMaxCalls);
  if (!calls.empty() && role != "assistant") {
    throw RequestError(kInvalidValue, param,
                       "is allowed only in messages of the assistant; leave it out");
  }
  boost::json::array read;
  for (size_t i = 0; i < calls.size(); ++i) {
    read.push_back(read_call(calls[i], entry_name(param, i)));
  }
  return read;
}

// Returns an assistant message's reasoning, given as `reasoning_content` or `reasoning`; "" where
// it has none.
std::string read_reasoning(const boost::json::object& message, const std::string& name) {
  for (const char* key : {"reasoning_content", "reasoning"}) {
    const boost::json::value* reasoning = find_field(message, key);
    if (reasoning != nullptr) return text_field(*reasoning, fmt::format("{}.{}", name, key));
  }
  return "";
}

void refuse_unbuilt_members(const boost::json::object& message, const std::string& name) {
  if (find_field(message, "function_call") != nullptr) {
    refuse_unsupported(name + ".function_call", "send it in tool_calls");
  }
  if (find_field(message, "audio") != nullptr) refuse_unsupported(name + ".audio", kOnlyText);
}

boost::json::object read_message(const boost::json::value& value, const std::string& name) {
  constexpr std::array<std::string_view, 8> kTaken = {
      "role",         "content", "tool_calls",        "function_call",
      "tool_call_id", "audio",   "reasoning_content", "reasoning"};
  const boost::json::object& message = object_field(value, name);
  boost::json::object read;
  const std::string role = read_role(message, name);
  read["role"] = role;
  refuse_unbuilt_members(message, name);
  boost::json::array calls = read_calls(message, role, name);
  const std::string param = name + ".content";
  const bool may_lack = !calls.empty() && find_field(message, "content") == nullptr;
  read["content"] = may_lack ? "" : read_content(require_field(message, "content", param), param);
  if (!calls.empty()) read["tool_calls"] = std::move(calls);
  if (role == "tool") {
    const std::string id = name + ".tool_call_id";
    read["tool_call_id"] = text_field(require_field(message, "tool_call_id", id), id);
  }
  std::string reasoning = role == "assistant" ? read_reasoning(message, name) : "";
  if (!reasoning.empty()) read["reasoning_content"] = std::move(reasoning);
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
                       "cannot be combined with add_generation_prompt, which starts another "
                       "message; leave one of them out");
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
  if (begin == std::string::npos) {  // some templates trim the content
    size_t first = text.find_first_not_of(" \t\r\n"), end = text.find_last_not_of(" \t\r\n");
    text = first == std::string::npos ? "" : text.substr(first, end - first + 1);
    begin = chat->text.rfind(text);
  }
  if (text.empty() || begin == std::string::npos) {
    throw RequestError(
        kInvalidValue, "continue_final_message",
        "needs a last message whose content the chat template prints unchanged; leave it out");
  }
  size_t size = begin + text.size();
  chat->text.resize(size);
  std::erase_if(chat->untrusted, [&](const auto& range) { return range.first >= size; });
  if (!chat->untrusted.empty()) {
    chat->untrusted.back().second = std::min(chat->untrusted.back().second, size);
  }
}

}  // namespace hearth
