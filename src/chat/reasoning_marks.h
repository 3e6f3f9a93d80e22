// Finds what a model's reasoning stands between: in what the template makes of a message's
// reasoning, else at the end of a prompt, else among the vocabulary's tokens.
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
  boost::json::object switches = {};  // variables with which a history shows it
};

ReasoningMarks find_reasoning_marks(const RenderTurns& render,
                                    const std::function<bool(std::string_view)>& has_token,
                                    ProbeStyle style);

// The marks that a template puts around a turn's content, found by the same measure.
struct ContentMarks {
  std::string begin, end;  // empty: nothing
};

ContentMarks find_content_marks(const RenderTurns& render, const ProbeStyle& style);

// The text without marks of reasoning in front that hold none.
std::string_view without_empty_reasoning(std::string_view text, const ReasoningMarks& marks);

}  // namespace hearth
