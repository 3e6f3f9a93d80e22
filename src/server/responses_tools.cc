#include "server/responses_tools.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <utility>

#include "base/printable.h"
#include "server/json_fields.h"
#include "server/responses_input.h"

namespace hearth {
namespace {

using boost::json::array;
using boost::json::object;
using boost::json::value;

// The most entries in a list of tools, including those left out.
constexpr size_t kMaxEntries = 4096;

std::string entry_type(const object& entry, const std::string& name) {
  const std::string param = name + ".type";
  return text_field(require_field(entry, "type", param), param);
}

std::string entry_text(const object& entry, const char* key, const std::string& name) {
  const std::string param = fmt::format("{}.{}", name, key);
  return text_field(require_field(entry, key, param), param);
}

// Adds a function to the chat's tools. Its values are checked by the chat's reader.
void add_function(const object& given, const std::string& name, const std::string& space,
                  ResponsesBody* read) {
  object function;
  for (const char* key : {"name", "description", "parameters", "strict"}) {
    if (const value* member = find_field(given, key)) function[key] = *member;
  }
  if (!space.empty()) {
    const std::string own = entry_text(given, "name", name);
    std::string joined = joined_tool_name(space, own);
    function["name"] = joined;
    read->echo.namespaced[std::move(joined)] = {space, own};
  }
  value& tools = read->chat["tools"];
  if (!tools.is_array()) tools = array();
  const std::string chat = entry_name("tools", tools.get_array().size());
  read->names.add(chat, name);
  read->names.add(chat + ".function", name);
  tools.get_array().push_back({{"type", "function"}, {"function", std::move(function)}});
}

void ignore_tool(const std::string& type, const std::string& name, ResponsesBody* read) {
  read->ignored.push_back(fmt::format("{}: {}", name, printable(type, 40)));
}

void add_namespace(const object& given, const std::string& name, ResponsesBody* read) {
  const std::string space = entry_text(given, "name", name);
  if (space.empty()) throw RequestError(kInvalidValue, name + ".name", "is empty; give it one");
  const std::string param = name + ".tools";
  const array& tools = array_field(require_field(given, "tools", param), param, 0, kMaxEntries);
  for (size_t i = 0; i < tools.size(); ++i) {
    const std::string entry = entry_name(param, i);
    const object& tool = object_field(tools[i], entry);
    const std::string type = entry_type(tool, entry);
    type == "function" ? add_function(tool, entry, space, read) : ignore_tool(type, entry, read);
  }
}

// Returns a function as a reply's `tools` shows it: with all members of that form.
object echoed_function(const object& given) {
  object echo{{"type", "function"}};
  for (const char* key : {"name", "description", "parameters"}) {
    const value* member = find_field(given, key);
    echo[key] = member != nullptr ? *member : value();
  }
  const value* strict = find_field(given, "strict");
  echo["strict"] = strict != nullptr ? *strict : value(false);
  return echo;
}

// Returns the chat's form of {"type": "function", "name": ...}.
object chat_reference(const object& given, const std::string& name) {
  std::string space;
  if (find_field(given, "namespace") != nullptr) space = entry_text(given, "namespace", name);
  const std::string called = joined_tool_name(space, entry_text(given, "name", name));
  return {{"type", "function"}, {"function", {{"name", called}}}};
}

object allowed_tools(const object& given, const std::string& name, ResponsesBody* read) {
  std::string mode = entry_text(given, "mode", name);
  const std::string param = name + ".tools";
  const array& entries = array_field(require_field(given, "tools", param), param, 1, kMaxEntries);
  array functions;
  for (size_t i = 0; i < entries.size(); ++i) {
    const std::string entry = entry_name(param, i);
    const object& tool = object_field(entries[i], entry);
    const std::string type = entry_type(tool, entry);
    if (type != "function") {
      ignore_tool(type, entry, read);
      continue;
    }
    const std::string chat = entry_name("tool_choice.allowed_tools.tools", functions.size());
    read->names.add(chat, entry);
    read->names.add(chat + ".function", entry);
    functions.push_back(chat_reference(tool, entry));
  }
  if (functions.empty()) {
    throw RequestError(kInvalidValue, param, "has no function; name one, or leave it out");
  }
  return {{"type", "allowed_tools"},
          {"allowed_tools", {{"mode", std::move(mode)}, {"tools", std::move(functions)}}}};
}

}  // namespace

void read_responses_tools(const value& field, const std::string& name, ResponsesBody* read) {
  const array& tools = array_field(field, name, 0, kMaxEntries);
  array echo;
  for (size_t i = 0; i < tools.size(); ++i) {
    const std::string entry = entry_name(name, i);
    const object& tool = object_field(tools[i], entry);
    const std::string type = entry_type(tool, entry);
    if (type == "function") {
      add_function(tool, entry, "", read);
      echo.push_back(echoed_function(tool));
    } else if (type == "namespace") {
      add_namespace(tool, entry, read);
      echo.push_back(tool);
    } else {
      ignore_tool(type, entry, read);
    }
  }
  read->echo.members[name] = std::move(echo);
}

void read_responses_tool_choice(const value& field, const std::string& name, ResponsesBody* read) {
  read->echo.members[name] = field;
  if (!field.is_object()) {
    read->chat[name] = field;
    return;
  }
  const object& given = field.get_object();
  const std::string type = entry_type(given, name);
  if (type == "function") {
    read->chat[name] = chat_reference(given, name);
  } else if (type == "allowed_tools") {
    read->chat[name] = allowed_tools(given, name, read);
  } else {
    refuse_unsupported(name + ".type", "give it function or allowed_tools");
  }
}

}  // namespace hearth
