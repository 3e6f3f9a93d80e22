#include "server/prompt_count.h"

#include <limits>
#include <utility>

#include "http/reader.h"
#include "server/conversation.h"
#include "server/exception_error.h"

namespace hearth {

PromptCount::PromptCount(Answers& answers, std::shared_ptr<Exchange> exchange,
                         const ServedModel& model, const RequestLimits& limits,
                         std::unique_ptr<TextApi> api, std::string (*body)(uint64_t tokens))
    : Answer(answers, std::move(exchange), nullptr),
      model_(model),
      limits_(limits),
      api_(std::move(api)),
      body_(body) {}

void PromptCount::begin() {
  on_worker([this] { count(); }, exchange().request().body.size());
}

void PromptCount::count() {
  // The lease holds the body's memory in the server's budget until its tokens are counted.
  BodyLease lease;
  const auto vocabulary = static_cast<uint32_t>(model_.backend.tokenizer().size());
  CompletionCall call =
      api_->read(exchange().take_body(&lease), model_.sampling, limits_, vocabulary);
  if (!was_chosen_for() && !call.model.empty() && call.model != model_.name) {
    throw RequestError(no_such_model(call.model, model_.name));
  }
  reply_with(std::make_unique<MadeBody>(body_(tokens_of(&call))), Outcome::kOk);
}

uint64_t PromptCount::tokens_of(CompletionCall* call) {
  Pace turns = pace();
  try {
    const RenderedChat chat = render_conversation(model_, call, &turns);
    return model_.chat.encode(chat, std::numeric_limits<size_t>::max(), &turns).size();
  } catch (const RequestError& error) {
    throw RequestError(api_->named(error.api()));
  }
}

}  // namespace hearth
