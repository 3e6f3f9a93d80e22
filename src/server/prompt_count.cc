#include "server/messages_count.h"

#include <limits>
#include <utility>

#include "http/reader.h"
#include "server/chat_messages.h"
#include "server/exception_error.h"
#include "server/messages_reply.h"
#include "server/messages_request.h"
#include "server/turn_history.h"

namespace hearth {

MessagesCount::MessagesCount(Answers& answers, std::shared_ptr<Exchange> exchange,
                             const ServedModel& model, const RequestLimits& limits)
    : Answer(answers, std::move(exchange), nullptr), model_(model), limits_(limits) {}

void MessagesCount::begin() {
  on_worker([this] { count(); }, exchange().request().body.size());
}

void MessagesCount::count() {
  // Its texts take as much until they are counted.
  BodyLease lease;
  const MessagesBody body =
      read_messages_body(exchange().take_body(&lease), limits_, MessagesWish::kCount);
  const auto vocabulary = static_cast<uint32_t>(model_.backend.tokenizer().size());
  CompletionCall call = read_messages_call(body, model_.sampling, limits_, vocabulary);
  if (!call.model.empty() && call.model != model_.name) {
    throw RequestError(no_such_model(call.model, model_.name));
  }
  try {
    reply_with(std::make_unique<MadeBody>(input_tokens_body(tokens_of(&call))), Outcome::kOk);
  } catch (const RequestError& error) {
    throw RequestError(body.names.translated(error.api()));
  }
}

uint64_t MessagesCount::tokens_of(CompletionCall* call) {
  fit_history(model_.turns, &call->messages);
  Pace turns = pace();
  RenderedChat chat = model_.chat.render(call->messages, call->template_kwargs, &turns);
  if (call->continue_final) end_with_final_message(call->messages, &chat);
  return model_.chat.encode(chat, std::numeric_limits<size_t>::max(), &turns).size();
}

void MessagesCount::tell(const ApiError& error) {
  exchange().reply(messages_error_reply(error, exchange().request().id));
}

}  // namespace hearth
