// Changes the calls and the reasoning in messages, as clients send them, to the form that a chat
// template expects (server/chat_messages.h reads them).
#pragma once

#include <boost/json/array.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "chat/turn_format.h"

namespace hearth {

// Changes messages for a template whose turns have this format; null: the format is unknown.
//
// - `arguments` become an object, or its JSON text. Throws RequestError for other arguments.
// - Call ids of a form that the template does not take are replaced, each id by the same one in
//   calls and in results.
// - A tool's result without a `name` gets the tool's name.
// - Reasoning moves to the member that the template reads, or is dropped where it reads none.
void fit_history(const TurnFormat* format, boost::json::array* messages);

// Whether an id consists of `length` letters and digits.
bool is_call_id(std::string_view id, uint32_t length);
// Returns `length` letters and digits, a hash of the id.
std::string short_id(std::string_view id, uint32_t length);

}  // namespace hearth
