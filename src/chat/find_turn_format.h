// Finds the format of a chat template's turns: renders probe conversations with it (a call, two
// calls, content before calls, reasoning, texts that look like numbers, nested values), and
// compares the texts.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <functional>
#include <string>
#include <string_view>

#include "chat/turn_format.h"

namespace hearth {

// Renders messages with variables (tools, add_generation_prompt, enable_thinking, ...). Throws
// Error where the template refuses them.
using RenderTurns = std::function<std::string(const boost::json::array& messages,
                                              const boost::json::object& variables)>;

struct FoundTurnFormat {
  TurnFormat format;
  std::string problem;  // why the format has no calls, as a predicate; empty: it has calls
  // The conditions, besides format.history, under which the template shows calls.
  bool named_ids = false;  // ids are functions.NAME:NUMBER
  bool results = false;    // tool results follow the calls
  bool bare = false;       // tools are not declared
  // The parts of a last turn that the template shows; reasoning_switches are the variables that it
  // needs to show reasoning.
  bool shows_content_before_calls = false;
  bool shows_reasoning = false;  // before an answer
  bool shows_reasoning_before_calls = false;
  boost::json::object reasoning_switches = {};
};

// Finds the format. `has_token`: whether the vocabulary has a token with exactly this text.
FoundTurnFormat find_turn_format(const RenderTurns& render,
                                 const std::function<bool(std::string_view)>& has_token);

}  // namespace hearth
