// Translates the fields `tools` and `tool_choice` of POST /v1/responses to those of a chat. Both
// throw RequestError.
#pragma once

#include <boost/json/value.hpp>
#include <string>

#include "server/responses_request.h"

namespace hearth {

// Adds functions and those in namespaces to the chat's tools; other kinds of tools are listed in
// `ignored`.
void read_responses_tools(const boost::json::value& field, const std::string& name,
                          ResponsesBody* read);
void read_responses_tool_choice(const boost::json::value& field, const std::string& name,
                                ResponsesBody* read);

}  // namespace hearth
