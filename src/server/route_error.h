// An error in the form that clients of a route read.
#pragma once

#include "http/api_error.h"
#include "http/exchange.h"
#include "http/request.h"

namespace hearth {

HttpReply route_error(const HttpRequest& request, const ApiError& error);

// Answers with an error; as the last event, where events were begun before anybody knew of it.
void answer_error(Exchange& exchange, HttpReply reply);

}  // namespace hearth
