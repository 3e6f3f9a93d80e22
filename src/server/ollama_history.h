// Translates the messages of ollama's chats to those of a chat completion.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <string>

namespace hearth {

// Translates the array `messages`, one to one. Missing content becomes "", `thinking` becomes
// reasoning_content. A call without an id gets its number in the conversation as one, so that a
// prompt's beginning stays the same from request to request. A tool's message answers the first
// open call of its `tool_name` or, without a `tool_name`, the first open call. Throws RequestError
// by path, also for images and for more than `most` messages.
boost::json::array read_ollama_messages(const boost::json::value& field, const std::string& name,
                                        size_t most);

}  // namespace hearth
