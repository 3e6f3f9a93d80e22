#include "server/chat_messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "formats/printable.h"
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

}  // namespace hearth
