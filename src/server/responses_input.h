// Reads the fields `instructions` and `input` of POST /v1/responses as the messages of a chat.
#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <string_view>

#include "server/responses_request.h"

namespace hearth {

// Returns the name that the model sees for a function of a namespace; with an empty `space` the
// function's own.
std::string joined_tool_name(std::string_view space, std::string_view name);

// Adds the messages to the chat's body. `instructions` may be empty. Throws RequestError.
void read_responses_input(const boost::json::value& input, const std::string& instructions,
                          ResponsesBody* read);

}  // namespace hearth
