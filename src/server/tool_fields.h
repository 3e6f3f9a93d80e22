// Reads the fields that offer tools: tools and tool_choice (docs/api.md has their forms). They set
// the TurnOrder and the chat template's variable `tools`. All throw RequestError that names the
// faulty entry ("tools[3].function.name").
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <string>

#include "chat/turn_language.h"

namespace hearth {

inline constexpr size_t kMaxNameBytes = 128;  // the longest name of a tool

// Reads tools: an array of at most `most` functions with different names. They may be called,
// unless tool_choice, read afterwards, says otherwise.
void read_tools(const boost::json::value& field, const std::string& name, size_t most,
                TurnOrder* order, boost::json::object* kwargs);

// Reads tool_choice: "none", "auto", "required", one function, or some of the tools. The template
// still sees all tools, except with "none", where it sees none.
void read_tool_choice(const boost::json::value& field, const std::string& name, TurnOrder* order,
                      boost::json::object* kwargs);

// Reads reasoning_effort and sets the template's variable of that name, and those that turn
// reasoning on or off in other templates, unless chat_template_kwargs, read before, set them.
void read_reasoning_effort(const boost::json::value& field, const std::string& name,
                           boost::json::object* kwargs);

}  // namespace hearth
