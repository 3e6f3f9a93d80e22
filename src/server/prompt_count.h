// Answers POST /v1/messages/count_tokens and /v1/responses/input_tokens: counts the tokens of the
// prompt that the API would make of the same body.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "server/answer.h"
#include "server/completion_request.h"
#include "server/served_model.h"
#include "server/text_api.h"

namespace hearth {

// PromptCount: runs on the worker as a whole.
class PromptCount final : public Answer {
 public:
  // `body` makes the reply from the number of tokens.
  PromptCount(Answers& answers, std::shared_ptr<Exchange> exchange, const ServedModel& model,
              const RequestLimits& limits, std::unique_ptr<TextApi> api,
              std::string (*body)(uint64_t tokens));

 private:
  void begin() override;
  void count();
  uint64_t tokens_of(CompletionCall* call);

  const ServedModel& model_;
  const RequestLimits& limits_;
  const std::unique_ptr<TextApi> api_;
  std::string (*const body_)(uint64_t tokens);
};

}  // namespace hearth
