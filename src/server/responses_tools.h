// The fields `tools` and `tool_choice` of POST /v1/responses, as those of a chat. Throw
// RequestError.
#pragma once

#include <boost/json/value.hpp>
#include <string>

#include "server/responses_request.h"

namespace hearth {

// Functions, and those of namespaces, become tools of the chat; all others are left out and named.
void read_responses_tools(const boost::json::value& field, const std::string& name,
                          ResponsesBody* read);
void read_responses_tool_choice(const boost::json::value& field, const std::string& name,
                                ResponsesBody* read);

}  // namespace hearth
