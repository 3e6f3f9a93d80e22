// POST /tokenize, /detokenize and /apply-template: from a body to a body, which is counted towards
// the budget of replies. Throw RequestError, and what templates throw. Used by the worker.
#pragma once

#include <memory>

#include "http/exchange.h"
#include "server/body_source.h"
#include "server/completion_request.h"
#include "server/routes.h"
#include "template/chat_prompt.h"

namespace hearth {

struct TokenRouteModel {
  const Tokenizer& tokenizer;
  const ChatPrompt* chat;  // null where there is no such route
  bool add_eos;            // as texts for embeddings have it where the file says so
};

// `route` is one of the three.
std::unique_ptr<BodySource> token_route_body(RouteId route, Exchange& exchange,
                                             const TokenRouteModel& model,
                                             const RequestLimits& limits, Pace* pace);

}  // namespace hearth
