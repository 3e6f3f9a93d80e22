#include "server/ollama_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "server/json_fields.h"

namespace hearth {
namespace {

using boost::json::object;
using boost::json::value;

// The most calls at a time without a result: each tool's message looks through them, so this bounds
// the work for a body with many calls and results.
constexpr size_t kMaxOpenCalls = 1024;

// Returns the field's text, or "" where it is no string: the chat's reader refuses that afterwards.
std::string text_or_nothing(const value& field) {
  if (!field.is_string()) return {};
  return {field.get_string().data(), field.get_string().size()};
}

class OllamaHistory {
 public:
  object message(const value& field, const std::string& name) {
    const object& given = object_field(field, name);
    constexpr std::string_view kImages = "images";
    if (const value* images = find_field(given, kImages)) {
      const bool none = images->is_array() && images->get_array().empty();
      if (!none) refuse_unsupported(fmt::format("{}.{}", name, kImages), "leave it out");
    }
    object made;
    for (const char* same : {"role", "content"}) {
      if (const value* member = find_field(given, same)) made[same] = *member;
    }
    if (!made.contains("content")) made["content"] = "";
    if (const value* thinking = find_field(given, "thinking")) {
      made["reasoning_content"] = text_field(*thinking, name + ".thinking");
    }
    if (const value* calls = find_field(given, "tool_calls")) {
      made["tool_calls"] = calls->is_array() ? value(with_ids(calls->get_array(), name)) : *calls;
    }
    if (made.contains("role") && made.at("role") == "tool") add_answered(given, name, &made);
    return made;
  }

 private:
  struct Open {
    std::string id, tool;
  };

  boost::json::array with_ids(const boost::json::array& calls, const std::string& name) {
    boost::json::array made;
    if (calls.size() > kMaxOpenCalls - open_.size()) {
      throw RequestError(kInvalidValue, name + ".tool_calls",
                         fmt::format("brings the calls without an answer from a tool to more than "
                                     "{}: send the tools' results",
                                     kMaxOpenCalls));
    }
    for (const value& call : calls) {
      made.push_back(call);
      if (!call.is_object()) continue;
      object& one = made.back().get_object();
      if (find_field(one, "id") == nullptr) one["id"] = fmt::format("call_{}", count_);
      ++count_;
      Open open;
      open.id = text_or_nothing(one.at("id"));
      const value* function = find_field(one, "function");
      if (function != nullptr && function->is_object()) {
        const value* tool = find_field(function->get_object(), "name");
        if (tool != nullptr) open.tool = text_or_nothing(*tool);
      }
      open_.push_back(std::move(open));
    }
    return made;
  }

  // Adds the id of the call that a tool's message answers.
  void add_answered(const object& given, const std::string& name, object* made) {
    std::string tool, id;
    for (const char* key : {"tool_name", "name"}) {
      const value* field = find_field(given, key);
      if (field != nullptr && tool.empty())
        tool = text_field(*field, fmt::format("{}.{}", name, key));
    }
    if (!tool.empty()) (*made)["name"] = tool;
    if (const value* field = find_field(given, "tool_call_id")) {
      id = text_field(*field, name + ".tool_call_id");
    }
    const auto found = std::ranges::find_if(open_, [&](const Open& open) {
      return !id.empty() ? open.id == id : tool.empty() || open.tool == tool;
    });
    if (id.empty()) id = found != open_.end() ? found->id : fmt::format("call_{}", count_);
    if (found != open_.end()) open_.erase(found);
    (*made)["tool_call_id"] = id;
  }

  std::vector<Open> open_;  // calls without a result so far
  size_t count_ = 0;        // calls so far
};

}  // namespace

boost::json::array read_ollama_messages(const value& field, const std::string& name, size_t most) {
  const boost::json::array& messages = array_field(field, name, 0, most);
  OllamaHistory history;
  boost::json::array made;
  for (size_t i = 0; i < messages.size(); ++i) {
    made.push_back(history.message(messages[i], entry_name(name, i)));
  }
  return made;
}

}  // namespace hearth
