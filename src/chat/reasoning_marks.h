// Finds the marks around a model's reasoning: in the template's text for a message with reasoning,
// else at the end of a prompt, else among the vocabulary's tokens.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "chat/find_turn_format.h"
#include "chat/turn_probes.h"

namespace hearth {

struct ReasoningMarks {
  std::string begin, end;  // empty: none
  std::string key = HistoryFormat().reasoning_key;
  boost::json::object switches = {};  // variables with which a history shows reasoning
};

ReasoningMarks find_reasoning_marks(const RenderTurns& render,
                                    const std::function<bool(std::string_view)>& has_token,
                                    ProbeStyle style);

// The marks around a turn's content, found in the same way.
struct ContentMarks {
  std::string begin, end;  // empty: none
};

ContentMarks find_content_marks(const RenderTurns& render, const ProbeStyle& style);

// Returns the text without an empty pair of reasoning marks at its front.
std::string_view without_empty_reasoning(std::string_view text, const ReasoningMarks& marks);

}  // namespace hearth
