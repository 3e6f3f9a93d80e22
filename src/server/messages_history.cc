#include "server/messages_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/value.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "base/printable.h"
#include "server/json_fields.h"
#include "server/json_values.h"

namespace hearth {
namespace {

using boost::json::object;
using boost::json::value;

constexpr std::string_view kBilling = "x-anthropic-billing-header";

// The contents of one message's blocks, by kind.
struct Said {
  std::string text = {}, reasoning = {};
  boost::json::array calls = {};
  // The results of tools, by the ids of their calls.
  std::vector<std::pair<std::string, std::string>> results = {};
};

// A message of the chat that is still being joined together.
struct HistoryMessage {
  std::string_view role;
  size_t from;
  Said said = {};
  std::string call_id = {};  // of a tool's message: the call's id
};

void join_line(std::string* text, std::string_view next) {
  if (next.empty()) return;
  if (!text->empty()) *text += '\n';
  text->append(next);
}

std::string member_text(const object& block, const char* member, const std::string& name) {
  const std::string param = fmt::format("{}.{}", name, member);
  return text_field(require_field(block, member, param), param);
}

void read_text_block(const object& block, const std::string& name, Said* said) {
  join_line(&said->text, member_text(block, "text", name));
}

void read_thinking_block(const object& block, const std::string& name, Said* said) {
  join_line(&said->reasoning, member_text(block, "thinking", name));
}

// Skips a block that means nothing to a model, such as encrypted reasoning.
void skip_block(const object&, const std::string&, Said*) {}

void read_call_block(const object& block, const std::string& name, Said* said) {
  const std::string param = name + ".input";
  const value& input = require_field(block, "input", param);
  object_field(input, param);
  said->calls.push_back(object{{"id", member_text(block, "id", name)},
                               {"type", "function"},
                               {"function", object{{"name", member_text(block, "name", name)},
                                                   {"arguments", value_text(input)}}}});
}

// Adds a reference to a tool that a search found, as a sentence.
void read_reference_block(const object& block, const std::string& name, Said* said) {
  join_line(&said->text,
            fmt::format("The tool {} can be called.", member_text(block, "tool_name", name)));
}

void read_result_block(const object& block, const std::string& name, Said* said);

enum class BlockPlace : uint8_t { kAnywhere, kUser, kAssistant, kResult };

struct BlockRule {
  std::string_view type;
  BlockPlace place;
  void (*read)(const object& block, const std::string& name, Said* said);
};

constexpr BlockRule kBlockRules[] = {
    {"text", BlockPlace::kAnywhere, read_text_block},
    {"tool_result", BlockPlace::kUser, read_result_block},
    {"thinking", BlockPlace::kAssistant, read_thinking_block},
    {"redacted_thinking", BlockPlace::kAssistant, skip_block},
    {"tool_use", BlockPlace::kAssistant, read_call_block},
    {"tool_reference", BlockPlace::kResult, read_reference_block},
};

std::string_view block_remedy(BlockPlace place) {
  if (place == BlockPlace::kAssistant) return "send text, thinking and tool_use blocks";
  if (place == BlockPlace::kUser) {
    return "no images or documents are read: send text and tool_result blocks";
  }
  return "no images or documents are read: send text blocks";
}

void read_block(const value& field, const std::string& name, BlockPlace place, Said* said) {
  const object& block = object_field(field, name);
  const std::string type = member_text(block, "type", name);
  const BlockRule* rule = std::ranges::find(kBlockRules, type, &BlockRule::type);
  const bool known = rule != std::end(kBlockRules);
  if (!known || (rule->place != BlockPlace::kAnywhere && rule->place != place)) {
    refuse_unsupported(name + ".type", block_remedy(place));
  }
  rule->read(block, name, said);
}

Said read_blocks(const value& content, const std::string& name, BlockPlace place) {
  Said said;
  if (content.is_string()) {
    said.text = text_field(content, name);
    return said;
  }
  if (!content.is_array()) refuse_type(content, name, "a string or an array of blocks");
  const boost::json::array& blocks = content.get_array();
  for (size_t i = 0; i < blocks.size(); ++i) {
    read_block(blocks[i], entry_name(name, i), place, &said);
  }
  return said;
}

void read_result_block(const object& block, const std::string& name, Said* said) {
  std::string text;
  if (const value* content = find_field(block, "content")) {
    text = read_blocks(*content, name + ".content", BlockPlace::kResult).text;
  }
  const value* error = find_field(block, "is_error");
  const bool failed = error != nullptr && bool_field(*error, name + ".is_error");
  if (failed && !text.starts_with("Error")) text.insert(0, "Error: ");
  said->results.emplace_back(member_text(block, "tool_use_id", name), std::move(text));
}

// Reads `system`. Claude Code's billing line is dropped: a block as a whole, in a string up to its
// newline.
std::string read_system_field(const value& field) {
  if (field.is_string()) {
    std::string text = text_field(field, "system");
    if (text.starts_with(kBilling)) text.erase(0, std::min(text.find('\n'), text.size() - 1) + 1);
    return text;
  }
  if (!field.is_array()) refuse_type(field, "system", "a string or an array of text blocks");
  Said said;
  const boost::json::array& blocks = field.get_array();
  for (size_t i = 0; i < blocks.size(); ++i) {
    read_block(blocks[i], entry_name("system", i), BlockPlace::kAnywhere, &said);
    if (i == 0 && said.text.starts_with(kBilling)) said.text.clear();
  }
  return said.text;
}

class HistoryMaking {
 public:
  explicit HistoryMaking(std::string system) {
    if (!system.empty()) add({"system", MessagesHistory::kFromSystem, {std::move(system)}});
  }

  void read(const value& field, const std::string& name, size_t number) {
    const object& message = object_field(field, name);
    const std::string role = member_text(message, "role", name);
    const std::string param = name + ".content";
    const value& content = require_field(message, "content", param);
    if (role == "user") return add_user(read_blocks(content, param, BlockPlace::kUser), number);
    if (role == "assistant") {
      return add({"assistant", number, read_blocks(content, param, BlockPlace::kAssistant)});
    }
    if (role != "system") {
      throw RequestError(
          kInvalidValue, name + ".role",
          fmt::format("is '{}'; it must be user, assistant or system", printable(role, 40)));
    }
    Said said = read_blocks(content, param, BlockPlace::kAnywhere);
    const bool first = messages_.empty() || messages_.back().role == "system";
    first ? add({"system", number, std::move(said)}) : add_user(std::move(said), number);
  }

  MessagesHistory take() {
    MessagesHistory history;
    const Said& last = messages_.back().said;
    history.goes_on =
        messages_.back().role == "assistant" && last.calls.empty() && !last.text.empty();
    for (HistoryMessage& message : messages_) {
      history.from.push_back(message.from);
      history.messages.push_back(shown(std::move(message)));
    }
    return history;
  }

 private:
  // Adds a user's message: tool results first, then its text. An empty text beside results is left
  // out.
  void add_user(Said said, size_t number) {
    const bool nothing = said.text.empty() && !said.results.empty();
    for (auto& [id, text] : std::exchange(said.results, {})) {
      messages_.push_back({"tool", number, {std::move(text)}, std::move(id)});
    }
    if (!nothing) add({"user", number, std::move(said)});
  }

  void add(HistoryMessage message) {
    if (messages_.empty() || messages_.back().role != message.role) {
      messages_.push_back(std::move(message));
      return;
    }
    Said& last = messages_.back().said;
    join_line(&last.text, message.said.text);
    join_line(&last.reasoning, message.said.reasoning);
    for (value& call : message.said.calls) last.calls.push_back(std::move(call));
  }

  static object shown(HistoryMessage message) {
    object shown;
    shown["role"] = std::string(message.role);
    if (message.role == "tool") shown["tool_call_id"] = message.call_id;
    shown["content"] = message.said.text;
    if (!message.said.reasoning.empty()) shown["reasoning_content"] = message.said.reasoning;
    if (!message.said.calls.empty()) shown["tool_calls"] = std::move(message.said.calls);
    return shown;
  }

  std::vector<HistoryMessage> messages_;
};

}  // namespace

MessagesHistory read_messages_history(const object& body, size_t most) {
  const value* system = find_field(body, "system");
  HistoryMaking history(system != nullptr ? read_system_field(*system) : "");
  const boost::json::array& messages =
      array_field(require_field(body, "messages", "messages"), "messages", 1, most);
  for (size_t i = 0; i < messages.size(); ++i) {
    history.read(messages[i], entry_name("messages", i), i);
  }
  return history.take();
}

}  // namespace hearth
