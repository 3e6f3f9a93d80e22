// TokenAnswer: answers POST /tokenize, /detokenize and /apply-template. The reply counts towards
// the replies' budget of memory.
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
  const ChatPrompt* chat;  // null: the model has no template
  bool add_eos;            // the model's file asks for EOS after each text to embed
  const TurnFormat* turns = nullptr;
};

// TokenAnswer runs on the worker as a whole.
class TokenAnswer final : public Answer {
 public:
  TokenAnswer(Answers& answers, std::shared_ptr<Exchange> exchange, TokenRoute route,
              const TokenRouteModel& model, const RequestLimits& limits);

 private:
  void begin() override;
  // Makes the reply's body. Throws RequestError, and errors of the template.
  std::unique_ptr<BodySource> body();

  const TokenRoute route_;
  const TokenRouteModel model_;
  const RequestLimits& limits_;
};

}  // namespace hearth
