// Fits the calls and the reasoning of messages, as clients send them, to what a chat template
// expects (server/chat_messages.h).
#pragma once

#include <boost/json/array.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "chat/turn_format.h"

namespace hearth {

// Changes messages that were read for a template whose turns have this format; null: one of which
// nothing is known.
//
// - `arguments` become an object, or its JSON text. Throws RequestError where they are none.
// - Ids of a form that the template does not take become ones that it takes, the same for the same
//   id, in calls and in what the tools gave alike.
// - What a tool gave gets the tool's `name` where it has none.
// - Reasoning moves to the member that the template reads, or goes where it reads none.
void fit_history(const TurnFormat* format, boost::json::array* messages);

// Whether an id is of so many letters and digits.
bool is_call_id(std::string_view id, uint32_t length);
// Returns so many letters and digits that stand for the id.
std::string short_id(std::string_view id, uint32_t length);

}  // namespace hearth
