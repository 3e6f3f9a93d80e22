// The fields of a request that offer tools: tools and tool_choice (docs/api.md has their forms).
// They fill what is asked of a turn and the variable `tools` of the chat template. All throw
// RequestError naming the entry that is at fault ("tools[3].function.name").
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <string>

#include "chat/turn_language.h"

namespace hearth {

inline constexpr size_t kMostNameBytes = 128;  // of a tool

// An array of at most `most` functions, whose names differ. They may be called, unless a choice
// says else, which is read behind.
void read_tools(const boost::json::value& field, const std::string& name, size_t most,
                TurnOrder* order, boost::json::object* kwargs);

// "none", "auto", "required", a function, or some of the tools. The template keeps seeing all
// tools, but with "none", where it sees none.
void read_tool_choice(const boost::json::value& field, const std::string& name, TurnOrder* order,
                      boost::json::object* kwargs);

// How hard the model is to think: as the variable reasoning_effort, and as those that turn
// reasoning on and off in other templates; `kwargs`, which were read before, win.
void read_reasoning_effort(const boost::json::value& field, const std::string& name,
                           boost::json::object* kwargs);

}  // namespace hearth
