// Renders the conversation of a chat as the text of its prompt.
#pragma once

#include <string>

#include "base/pace.h"
#include "server/completion_request.h"
#include "server/served_model.h"
#include "template/chat_template.h"

namespace hearth {

// Throws RequestError, in names of fields of a chat, where the model's turns have not what `call`
// asks for: calls of tools, reasoning.
void check_turns(const ServedModel& model, const CompletionCall& call);

// Brings the messages of `call` into the form that the model's chat template wants, and renders
// them. Throws RequestError, which names fields of a chat, and what the template does.
RenderedChat render_conversation(const ServedModel& model, CompletionCall* call, Pace* pace);

// The end of a prompt, which tells what a turn begins in: what the template wrote, and the message
// that goes on where one does.
std::string prompt_tail(const RenderedChat& chat, bool continued);

}  // namespace hearth
