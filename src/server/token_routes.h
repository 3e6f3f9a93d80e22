// POST /tokenize, /detokenize and /apply-template: from a body to a body. Throw RequestError, and
// what templates throw. Used by the worker.
#pragma once

#include <string>
#include <string_view>

#include "server/completion_request.h"
#include "server/routes.h"
#include "server/served_model.h"

namespace hearth {

// `route` is one of the three.
std::string token_route_body(RouteId route, std::string_view body, const ServedModel& model,
                             const RequestLimits& limits);

}  // namespace hearth
