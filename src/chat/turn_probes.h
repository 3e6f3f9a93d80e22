// Conversations that a chat template is tried with, and what it makes of their last turn.
//
//   for (const TurnProbe& probe : turn_probes(style)) {
//     ProbeText text = render_probe(render, probe);
//     // text.turn is the template's text for probe.reasoning, probe.content and probe.calls
//   }
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <string>
#include <vector>

#include "chat/find_turn_format.h"

namespace hearth {

// How a template wants its messages.
struct ProbeStyle {
  HistoryFormat history;
  bool null_content = false;  // content is null where there is none; else ""
  bool named_ids = false;     // ids are functions.NAME:NUMBER
  bool results = false;       // results follow the calls
  bool tools = true;          // tools are declared
  bool one = false;           // a turn has one call at most
  // The properties of the template that turn_probes() takes into account.
  bool content_before_calls = true;
  bool reasoning = false;
  bool reasoning_before_calls = false;
  bool python = false;                // calls are written as in Python
  bool python_words = false;          // and true is True in other forms
  boost::json::object switches = {};  // other variables, such as enable_thinking
};

// The style in which a template was found to show calls.
ProbeStyle style_of(const FoundTurnFormat& found);

struct ProbeCall {
  std::string name, id;
  boost::json::object arguments;
};

struct TurnProbe {
  std::string what;  // for people: "two calls"
  boost::json::array messages;
  size_t turn = 0;  // which of the messages the turn is; those behind it are results
  boost::json::object variables;
  std::string reasoning, content;
  std::vector<ProbeCall> calls;
  // Templates that write it wrong are known, though their models do not: a history of theirs has
  // calls that nothing ends, or quotation marks within quotation marks.
  bool often_wrong = false;
};

// The probes whose last turn is shown whole. All names, keys and values are unlike each other.
std::vector<TurnProbe> turn_probes(const ProbeStyle& style);

// One probe of it: `calls` are numbers of 0 to 4 (two texts; two texts; many types; no arguments; a
// text with marks in it).
TurnProbe make_probe(const ProbeStyle& style, std::string what, const std::vector<int>& calls,
                     std::string content = {}, std::string reasoning = {});

struct ProbeText {
  std::string prompt;  // up to where the assistant begins to say something of its own
  std::string turn;    // what it says
  std::string rest;    // what ends the turn, and the results
};

// Told from the text of the same conversation in which the assistant says something else. What
// stands in front of both, such as reasoning that is opened and closed, is prompt; so is what the
// template asks for the turn with (add_generation_prompt), where the turn goes on behind it.
// Throws what `render` throws.
ProbeText render_probe(const RenderTurns& render, const TurnProbe& probe);

// The user's words in every probe.
inline constexpr std::string_view kProbeQuestion = "Kindly see to it";

}  // namespace hearth
