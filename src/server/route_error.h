// Writes errors in the form that clients of each route read.
#pragma once

#include "http/api_error.h"
#include "http/exchange.h"
#include "http/request.h"

namespace hearth {

HttpReply route_error(const HttpRequest& request, const ApiError& error);

// Answers with an error: as a reply, or as the last event if a stream of events was begun.
void answer_error(Exchange& exchange, HttpReply reply);

}  // namespace hearth
