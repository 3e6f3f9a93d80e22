// The turns of a chat template, found and then proved: what it renders is read back, and has to be
// what was said.
#pragma once

#include <string>

#include "chat/find_turn_format.h"
#include "chat/recorded_turn.h"
#include "template/chat_prompt.h"
#include "template/chat_template.h"

namespace hearth {

// Both must outlive what is returned.
RenderTurns renderer_of(const ChatTemplate& chat);
RenderTurns renderer_of(const ChatPrompt& prompt);

// Reads every probe back that shows calls. Returns what differs, as the predicate of a sentence
// about the template; empty where nothing does.
std::string prove_turns(const RenderTurns& render, const FoundTurnFormat& found,
                        const TurnVocabulary& vocabulary);

// The form of a model's turns, in its own vocabulary. One that cannot be proved has no calls.
FoundTurnFormat prove_turn_format(const RenderTurns& render, const TurnVocabulary& vocabulary);

}  // namespace hearth
