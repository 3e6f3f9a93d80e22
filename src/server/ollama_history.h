// The messages of ollama's chats as those of a chat completion.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <string>

namespace hearth {

// Each message stays one. Content that is missing is empty, `thinking` becomes reasoning_content.
// Calls get an id where they have none, by their number in the conversation, so that a prompt's
// beginning stays the same; what a tool gave is the answer to the first open call of `tool_name`,
// or where it names none to the first open one. Throws RequestError by path, also where there are
// images, or more than `most` messages.
boost::json::array read_ollama_messages(const boost::json::value& field, const std::string& name,
                                        size_t most);

}  // namespace hearth
