// POST /tokenize, /detokenize and /apply-template: from a body to a body, which is counted towards
// the budget of replies.
#pragma once

#include <memory>

#include "chat/turn_format.h"
#include "server/answer.h"
#include "server/completion_request.h"
#include "template/chat_prompt.h"

namespace hearth {

enum class TokenRoute : uint8_t { kTokenize, kDetokenize, kTemplate };

struct TokenRouteModel {
  const Tokenizer& tokenizer;
  const ChatPrompt* chat;  // null where there is no such route
  bool add_eos;            // as texts for embeddings have it where the file says so
  const TurnFormat* turns = nullptr;
};

// The worker runs all of it.
class TokenAnswer final : public Answer {
 public:
  TokenAnswer(Answers& answers, std::shared_ptr<Exchange> exchange, TokenRoute route,
              const TokenRouteModel& model, const RequestLimits& limits);

 private:
  void begin() override;
  // Throws RequestError, and what templates throw.
  std::unique_ptr<BodySource> body();

  const TokenRoute route_;
  const TokenRouteModel model_;
  const RequestLimits& limits_;
};

}  // namespace hearth
