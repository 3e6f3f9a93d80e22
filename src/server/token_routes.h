// POST /tokenize, /detokenize and /apply-template: from a body to a body. Throw RequestError, and
// what templates throw. Used by the worker.
#pragma once

#include <string>
#include <string_view>

#include "server/completion_request.h"
#include "server/routes.h"
#include "text/chat_prompt.h"

namespace hearth {

struct TokenRouteModel {
  const Tokenizer& tokenizer;
  const ChatPrompt* chat;  // null where there is no such route
  bool add_eos;            // as texts for embeddings have it where the file says so
};

// `route` is one of the three.
std::string token_route_body(RouteId route, std::string_view body, const TokenRouteModel& model,
                             const RequestLimits& limits, Pace* pace);

}  // namespace hearth
