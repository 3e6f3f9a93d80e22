// POST /v1/messages/count_tokens: how many tokens the prompt has that POST /v1/messages would make
// of the same body.
#pragma once

#include <cstdint>
#include <memory>

#include "server/answer.h"
#include "server/completion_request.h"
#include "server/served_model.h"

namespace hearth {

// All of it is the worker's.
class MessagesCount final : public Answer {
 public:
  MessagesCount(Answers& answers, std::shared_ptr<Exchange> exchange, const ServedModel& model,
                const RequestLimits& limits);

 private:
  void begin() override;
  void tell(const ApiError& error) override;
  void count();
  // Of the prompt, in the chat's names for what is wrong.
  uint64_t tokens_of(CompletionCall* call);

  const ServedModel& model_;
  const RequestLimits& limits_;
};

}  // namespace hearth
