// The probe conversations that a chat template is rendered with, and the template's text for their
// last turn.
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

// The form in which a template takes messages.
struct ProbeStyle {
  HistoryFormat history;
  bool null_content = false;  // content is null where there is none; else ""
  bool named_ids = false;     // ids are functions.NAME:NUMBER
  bool results = false;       // results follow the calls
  bool tools = true;          // tools are declared
  bool one = false;           // a turn has one call at most
  // Properties of the template that decide which probes turn_probes() makes.
  bool content_before_calls = true;
  bool reasoning = false;
  bool reasoning_before_calls = false;
  bool python = false;                // arguments have Python's form
  bool python_words = false;          // other forms write True for true
  boost::json::object switches = {};  // more variables, such as enable_thinking
};

// Returns the style in which a template was found to show calls.
ProbeStyle style_of(const FoundTurnFormat& found);

struct ProbeCall {
  std::string name, id;
  boost::json::object arguments;
};

struct TurnProbe {
  std::string what;  // for people: "two calls"
  boost::json::array messages;
  size_t turn = 0;  // the turn's message; results follow it
  boost::json::object variables;
  std::string reasoning, content;
  std::vector<ProbeCall> calls;
  // Known templates render this probe wrongly in a history (calls without an end, nested quotation
  // marks), although their models write it right.
  bool often_wrong = false;
};

// Returns the probes of a style. All their names, keys and values differ.
std::vector<TurnProbe> turn_probes(const ProbeStyle& style);

// Makes one probe. `calls`: numbers from 0 to 4 (0 and 1: two texts; 2: many types; 3: no
// arguments; 4: a text that contains marks).
TurnProbe make_probe(const ProbeStyle& style, std::string what, const std::vector<int>& calls,
                     std::string content = {}, std::string reasoning = {});

struct ProbeText {
  std::string prompt;  // up to the assistant's own text
  std::string turn;    // the assistant's own text
  std::string rest;    // the end of the turn, and results
};

// Renders a probe and splits the text. The same conversation is also rendered with another last
// turn: what both begin with (such as an empty pair of reasoning marks) is prompt, and so is the
// generation prompt (add_generation_prompt) where the turn continues it. Throws what `render`
// throws.
ProbeText render_probe(const RenderTurns& render, const TurnProbe& probe);

// The user's message in every probe.
inline constexpr std::string_view kProbeQuestion = "Kindly see to it";

}  // namespace hearth
