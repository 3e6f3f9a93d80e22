#include "server/responses_input.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <utility>

#include "base/printable.h"
#include "server/json_fields.h"
#include "server/responses_reasoning.h"

namespace hearth {
namespace {

using boost::json::array;
using boost::json::object;
using boost::json::value;

constexpr size_t kMaxItems = 16'384;
constexpr size_t kMaxParts = 16'384;  // the most parts in one item
constexpr std::string_view kTextParts = "no images, sound or files are read: send text parts";

std::string item_text(const object& holder, std::string_view key, const std::string& name) {
  const std::string param = fmt::format("{}.{}", name, key);
  return text_field(require_field(holder, key, param), param);
}

// Returns the text of a part of a message's or a tool output's content.
std::string part_text(const value& field, const std::string& name) {
  const object& part = object_field(field, name);
  const std::string type = item_text(part, "type", name);
  if (type == "refusal") return item_text(part, "refusal", name);
  if (type != "input_text" && type != "output_text" && type != "text") {
    refuse_unsupported(name + ".type", kTextParts);
  }
  return item_text(part, "text", name);
}

// Returns the text of a content: a string, or the joined texts of an array of parts.
std::string content_text(const value& content, const std::string& name) {
  if (content.is_string()) return text_field(content, name);
  if (!content.is_array()) refuse_type(content, name, "a string or an array of text parts");
  const array& parts = array_field(content, name, 0, kMaxParts);
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += '\n';
    text += part_text(parts[i], entry_name(name, i));
  }
  return text;
}

// Joins the texts in an array member of an item; "" where there are none.
std::string entries_text(const object& item, std::string_view key, const std::string& name) {
  const value* field = find_field(item, key);
  if (field == nullptr) return "";
  const std::string param = fmt::format("{}.{}", name, key);
  const array& entries = array_field(*field, param, 0, kMaxParts);
  std::string text;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (i > 0) text += '\n';
    const std::string entry = entry_name(param, i);
    text += item_text(object_field(entries[i], entry), "text", entry);
  }
  return text;
}

std::string message_role(const object& item, const std::string& name) {
  std::string role = item_text(item, "role", name);
  if (role == "developer") return "system";
  if (role != "system" && role != "user" && role != "assistant") {
    throw RequestError(kInvalidValue, name + ".role",
                       fmt::format("is '{}'; it must be user, assistant, system or developer; send "
                                   "a tool's result as an item function_call_output",
                                   printable(role, 40)));
  }
  return role;
}

class MessagesOfItems {
 public:
  explicit MessagesOfItems(ResponsesBody* read) : read_(read) {}

  void add_text(const std::string& role, const std::string& text, const std::string& name);
  void add_item(const value& field, const std::string& name);
  array take() { return std::move(messages_); }

 private:
  // The parts that the last message has so far, if it is the assistant's.
  struct Turn {
    bool text = false, calls = false;
  };

  void add_message(const object& item, const std::string& name);
  void add_reasoning(const object& item, const std::string& name);
  void add_call(const object& item, const std::string& name);
  void add_output(const object& item, const std::string& name);
  object& begin(const char* role, std::string content, const std::string& name);
  object& turn(bool goes_on, const std::string& name);
  bool last_is(std::string_view role) const;
  std::string last_name() const { return entry_name("messages", messages_.size() - 1); }

  ResponsesBody* read_;
  array messages_;
  Turn turn_;
};

bool MessagesOfItems::last_is(std::string_view role) const {
  return !messages_.empty() && messages_.back().at("role").as_string() == role;
}

object& MessagesOfItems::begin(const char* role, std::string content, const std::string& name) {
  messages_.push_back({{"role", role}, {"content", std::move(content)}});
  read_->names.add(last_name(), name);
  turn_ = {};
  return messages_.back().as_object();
}

void MessagesOfItems::add_text(const std::string& role, const std::string& text,
                               const std::string& name) {
  const bool late = role == "system" && !messages_.empty() && !last_is("system");
  const char* as = role == "system" && !late ? "system" : "user";
  if (!last_is(as)) {
    begin(as, text, name);
    return;
  }
  boost::json::string& content = messages_.back().at("content").as_string();
  content += "\n\n";
  content += text;
}

// Returns the assistant's message to add to: the last one if `goes_on` and it is the assistant's,
// else a new one.
object& MessagesOfItems::turn(bool goes_on, const std::string& name) {
  if (goes_on && last_is("assistant")) return messages_.back().as_object();
  return begin("assistant", "", name);
}

void MessagesOfItems::add_message(const object& item, const std::string& name) {
  const std::string role = message_role(item, name);
  const std::string param = name + ".content";
  const std::string text = content_text(require_field(item, "content", param), param);
  if (role != "assistant") return add_text(role, text, name);
  turn(!turn_.text && !turn_.calls, name)["content"] = text;
  turn_.text = true;
}

// Returns an item's reasoning: its content, else the text that this server wrote in
// encrypted_content, else its summary. This server's items have the same text in all three; another
// server's may only have a summary.
std::string reasoning_text(const object& item, const std::string& name) {
  std::string text = entries_text(item, "content", name);
  if (!text.empty()) return text;
  if (find_field(item, "encrypted_content") != nullptr) {
    text = read_carried_reasoning(item_text(item, "encrypted_content", name)).value_or("");
  }
  return text.empty() ? entries_text(item, "summary", name) : text;
}

void MessagesOfItems::add_reasoning(const object& item, const std::string& name) {
  std::string text = reasoning_text(item, name);
  if (text.empty()) return;
  object& message = turn(!turn_.text && !turn_.calls, name);
  if (const value* before = find_field(message, "reasoning_content")) {
    text = fmt::format("{}\n\n{}", std::string_view(before->as_string()), text);
  }
  message["reasoning_content"] = text;
}

void MessagesOfItems::add_call(const object& item, const std::string& name) {
  std::string space;
  if (find_field(item, "namespace") != nullptr) space = item_text(item, "namespace", name);
  const std::string id = item_text(item, "call_id", name);
  const std::string called = joined_tool_name(space, item_text(item, "name", name));
  const std::string arguments = item_text(item, "arguments", name);
  object& message = turn(true, name);
  if (!turn_.calls) message["tool_calls"] = array();
  turn_.calls = true;
  array& calls = message["tool_calls"].as_array();
  const std::string chat = entry_name(last_name() + ".tool_calls", calls.size());
  read_->names.add(chat, name);
  read_->names.add(chat + ".function", name);
  calls.push_back({{"id", id},
                   {"type", "function"},
                   {"function", {{"name", called}, {"arguments", arguments}}}});
}

void MessagesOfItems::add_output(const object& item, const std::string& name) {
  const std::string id = item_text(item, "call_id", name);
  const std::string param = name + ".output";
  std::string text = content_text(require_field(item, "output", param), param);
  begin("tool", std::move(text), name)["tool_call_id"] = id;
}

void MessagesOfItems::add_item(const value& field, const std::string& name) {
  const object& item = object_field(field, name);
  const bool plain = find_field(item, "type") == nullptr && find_field(item, "role") != nullptr;
  const std::string type = plain ? "message" : item_text(item, "type", name);
  if (type == "message") return add_message(item, name);
  if (type == "reasoning") return add_reasoning(item, name);
  if (type == "function_call") return add_call(item, name);
  if (type == "function_call_output") return add_output(item, name);
  if (type == "item_reference") {
    refuse_unsupported(name + ".type", "it stores no items: send the item itself");
  }
  read_->ignored.push_back(fmt::format("{}: {}", name, printable(type, 40)));
}

}  // namespace

std::string joined_tool_name(std::string_view space, std::string_view name) {
  return space.empty() ? std::string(name) : fmt::format("{}__{}", space, name);
}

void read_responses_input(const value& input, const std::string& instructions,
                          ResponsesBody* read) {
  const std::string name = "input";
  MessagesOfItems messages(read);
  if (!instructions.empty()) messages.add_text("system", instructions, "instructions");
  if (input.is_string()) {
    messages.add_text("user", text_field(input, name), name);
  } else {
    if (!input.is_array()) refuse_type(input, name, "a string or an array of items");
    const array& items = array_field(input, name, 1, kMaxItems);
    for (size_t i = 0; i < items.size(); ++i) messages.add_item(items[i], entry_name(name, i));
  }
  array all = messages.take();
  if (all.empty()) {
    throw RequestError(kInvalidValue, name, "has no message; send what the model is to answer");
  }
  read->chat["messages"] = std::move(all);
}

}  // namespace hearth
