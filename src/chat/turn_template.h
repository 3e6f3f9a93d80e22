// Finds the format of a chat template's turns and proves it: rendered probes are read back, and
// must equal the messages that were rendered.
#pragma once

#include <string>

#include "chat/find_turn_format.h"
#include "chat/recorded_turn.h"
#include "template/chat_prompt.h"
#include "template/chat_template.h"

namespace hearth {

// Return functions that render with the template or prompt, which must outlive them.
RenderTurns renderer_of(const ChatTemplate& chat);
RenderTurns renderer_of(const ChatPrompt& prompt);

// Reads back every probe that the template shows. Returns the difference as a predicate about the
// template; empty where there is none.
std::string prove_turns(const RenderTurns& render, const FoundTurnFormat& found,
                        const TurnVocabulary& vocabulary);

// Returns the format of a model's turns with its own vocabulary. If calls cannot be proved, the
// format has none.
FoundTurnFormat prove_turn_format(const RenderTurns& render, const TurnVocabulary& vocabulary);

}  // namespace hearth
