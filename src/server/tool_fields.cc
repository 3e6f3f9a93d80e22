#include "server/tool_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "base/printable.h"
#include "server/json_fields.h"

namespace hearth {
namespace {

using boost::json::object;
using boost::json::value;

constexpr const char* kOnlyFunctions = "give tools of the type function";
constexpr std::array<std::string_view, 6> kEfforts = {"none",   "minimal", "low",
                                                      "medium", "high",    "xhigh"};

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxNameBytes && std::ranges::all_of(name, [](char c) {
    return is_letter(c) || is_digit(c) || c == '_' || c == '.' || c == ':' || c == '-';
  });
}

void check_type(const object& tool, const std::string& name) {
  const std::string param = name + ".type";
  const std::string type = text_field(require_field(tool, "type", param), param);
  if (type != "function") refuse_unsupported(param, kOnlyFunctions);
}

std::string read_name(const object& function, const std::string& name) {
  const std::string param = name + ".name";
  std::string text = text_field(require_field(function, "name", param), param);
  if (!is_name(text)) {
    throw RequestError(
        kInvalidValue, param,
        fmt::format("is '{}'; it must have 1 to {} letters, digits, and any of _ . : -",
                    printable(text, 40), kMaxNameBytes));
  }
  return text;
}

// Returns a tool as the template sees it: without `strict`, which is for the server, and always
// with `parameters`, since templates loop over their members.
object shown_tool(const object& function, const value* parameters) {
  object shown;
  for (const auto& member : function) {
    const bool ours = member.key() == "strict" || member.key() == "parameters";
    if (!ours && !member.value().is_null()) shown.emplace(member.key(), member.value());
  }
  if (parameters != nullptr) {
    shown["parameters"] = *parameters;
  } else {
    shown["parameters"] = object{{"type", "object"}, {"properties", object()}};
  }
  return {{"type", "function"}, {"function", std::move(shown)}};
}

Tool read_tool(const value& field, const std::string& name, boost::json::array* shown) {
  const object& given = object_field(field, name);
  check_type(given, name);
  const std::string inner = name + ".function";
  const object& function = object_field(require_field(given, "function", inner), inner);
  Tool tool;
  tool.name = read_name(function, inner);
  if (const value* description = find_field(function, "description")) {
    text_field(*description, inner + ".description");
  }
  tool.where = inner + ".parameters";
  const value* parameters = find_field(function, "parameters");
  if (parameters != nullptr) {
    tool.parameters = boost::json::serialize(object_field(*parameters, tool.where));
  }
  if (const value* strict = find_field(function, "strict")) {
    tool.strict = bool_field(*strict, inner + ".strict");
  }
  shown->push_back(shown_tool(function, parameters));
  return tool;
}

// Returns the name of the tool that {"type": "function", "function": {"name": ...}}, or the form
// with `name` beside `type`, refers to.
std::string read_reference(const object& given, const std::string& name,
                           const std::vector<Tool>& tools) {
  check_type(given, name);
  const std::string inner = name + ".function";
  const value* nested = find_field(given, "function");
  const bool flat = nested == nullptr && find_field(given, "name") != nullptr;
  const std::string at = flat ? name : inner;
  const object& holder =
      flat ? given : object_field(require_field(given, "function", inner), inner);
  std::string called = text_field(require_field(holder, "name", at + ".name"), at + ".name");
  if (std::ranges::find(tools, called, &Tool::name) == tools.end()) {
    throw RequestError(
        kInvalidValue, at + ".name",
        fmt::format("is '{}', which is not the name of one of tools", printable(called, 40)));
  }
  return called;
}

void keep_tools(const std::vector<std::string>& names, TurnOrder* order) {
  std::erase_if(order->tools, [&](const Tool& tool) {
    return std::ranges::find(names, tool.name) == names.end();
  });
}

void read_allowed_tools(const object& given, const std::string& name, TurnOrder* order) {
  const std::string inner = name + ".allowed_tools";
  const object& allowed = object_field(require_field(given, "allowed_tools", inner), inner);
  std::string param = inner + ".mode";
  const std::string mode = text_field(require_field(allowed, "mode", param), param);
  if (mode != "auto" && mode != "required") {
    throw RequestError(kInvalidValue, param,
                       fmt::format("is '{}'; it must be auto or required", printable(mode, 40)));
  }
  param = inner + ".tools";
  const boost::json::array& entries =
      array_field(require_field(allowed, "tools", param), param, 1, order->tools.size());
  std::vector<std::string> names;
  for (size_t i = 0; i < entries.size(); ++i) {
    const std::string entry = entry_name(param, i);
    names.push_back(read_reference(object_field(entries[i], entry), entry, order->tools));
  }
  keep_tools(names, order);
  order->choice = mode == "auto" ? ToolChoice::kAuto : ToolChoice::kRequired;
}

void need_tools(const std::string& name, const TurnOrder& order) {
  if (order.tools.empty()) {
    throw RequestError(kInvalidValue, name, "works only with tools; give some or leave it out");
  }
}

void read_choice_word(const std::string& word, const std::string& name, TurnOrder* order,
                      object* kwargs) {
  if (word == "auto") return;
  if (word == "none") {
    if (!order->tools.empty()) kwargs->erase("tools");
    order->tools.clear();
    order->choice = ToolChoice::kNone;
    return;
  }
  if (word != "required") {
    throw RequestError(
        kInvalidValue, name,
        fmt::format("is '{}'; it must be none, auto, required or an object", printable(word, 40)));
  }
  need_tools(name, *order);
  order->choice = ToolChoice::kRequired;
}

}  // namespace

void read_tools(const value& field, const std::string& name, size_t most, TurnOrder* order,
                object* kwargs) {
  const boost::json::array& tools = array_field(field, name, 0, most);
  if (tools.empty()) return;
  boost::json::array shown;
  std::unordered_set<std::string> names;
  for (size_t i = 0; i < tools.size(); ++i) {
    const std::string entry = entry_name(name, i);
    order->tools.push_back(read_tool(tools[i], entry, &shown));
    if (!names.insert(order->tools.back().name).second) {
      throw RequestError(kInvalidValue, entry + ".function.name",
                         fmt::format("is '{}', the name of another tool; give each its own",
                                     order->tools.back().name));
    }
  }
  order->choice = ToolChoice::kAuto;
  (*kwargs)["tools"] = std::move(shown);
}

void read_tool_choice(const value& field, const std::string& name, TurnOrder* order,
                      object* kwargs) {
  if (field.is_string()) return read_choice_word(text_field(field, name), name, order, kwargs);
  if (!field.is_object()) refuse_type(field, name, "a string or an object");
  const object& given = field.get_object();
  const std::string param = name + ".type";
  const std::string type = text_field(require_field(given, "type", param), param);
  if (type != "function" && type != "allowed_tools") {
    refuse_unsupported(param, "give it function or allowed_tools");
  }
  need_tools(name, *order);
  if (type == "allowed_tools") return read_allowed_tools(given, name, order);
  keep_tools({read_reference(given, name, order->tools)}, order);
  order->choice = ToolChoice::kRequired;
}

void read_reasoning_effort(const value& field, const std::string& name, object* kwargs) {
  const std::string effort = text_field(field, name);
  if (std::ranges::find(kEfforts, effort) == kEfforts.end()) {
    throw RequestError(kInvalidValue, name,
                       fmt::format("is '{}'; it must be none, minimal, low, medium, high or xhigh",
                                   printable(effort, 40)));
  }
  kwargs->emplace("reasoning_effort", effort);
  for (const char* switched : {"enable_thinking", "thinking"}) {
    kwargs->emplace(switched, effort != "none");
  }
}

}  // namespace hearth
