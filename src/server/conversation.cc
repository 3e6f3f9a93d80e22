#include "server/conversation.h"

#include "server/chat_messages.h"
#include "server/turn_history.h"

namespace hearth {

RenderedChat render_conversation(const ServedModel& model, CompletionCall* call, Pace* pace) {
  fit_history(model.turns, &call->messages);
  RenderedChat chat = model.chat.render(call->messages, call->template_kwargs, pace);
  if (call->continue_final) end_with_final_message(call->messages, &chat);
  return chat;
}

}  // namespace hearth
