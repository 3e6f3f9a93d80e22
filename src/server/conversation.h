// Renders the conversation of a chat as the text of its prompt.
#pragma once

#include <string>

#include "base/pace.h"
#include "server/completion_request.h"
#include "server/served_model.h"
#include "template/chat_template.h"

namespace hearth {

// Checks that the model's turns have what `call` asks for: tool calls, reasoning. Throws
// RequestError that names the chat's field.
void check_turns(const ServedModel& model, const CompletionCall& call);

// Brings the messages of `call` into the form that the model's chat template wants, and renders
// them. Throws RequestError that names the chat's field, and the template's own errors.
RenderedChat render_conversation(const ServedModel& model, CompletionCall* call, Pace* pace);

// Returns the end of a prompt, from which the turn's grammar sees how much of the turn has begun.
// It holds only text that the template wrote or, with `continued`, also the message that generation
// continues.
std::string prompt_tail(const RenderedChat& chat, bool continued);

}  // namespace hearth
