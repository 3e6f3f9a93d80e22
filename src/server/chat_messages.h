// The messages of a chat as a client sent them, and as a chat template takes them.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <string>

#include "template/chat_template.h"

namespace hearth {

// Reads the field `messages` of a body (required, 1 to `most` of them). Each becomes an object with
// `role` and `content` first: `developer` is `system`, the texts of parts are joined by newlines,
// and content that is missing where there are calls is empty. Behind them come, where a message has
// them, `tool_calls` as OpenAI has them (`arguments` as the client sent them: JSON text or an
// object), `tool_call_id` and `reasoning_content`, which is also read by the name `reasoning`.
// Other members stay as they are, without null ones. server/turn_history.h then makes of calls and
// reasoning what a template wants. Throws RequestError, also where a message has images, audio or
// files.
boost::json::array read_messages(const boost::json::object& body, size_t most);

// The field add_generation_prompt, as a variable of the template; `kwargs`, which were read before,
// win.
void read_generation_prompt(const boost::json::value& field, const std::string& name,
                            boost::json::object* kwargs);
// The field continue_final_message, behind it. Where it is true, no generation prompt follows.
bool read_continue_final(const boost::json::value& field, const std::string& name,
                         boost::json::object* kwargs);
// Takes off what a template wrote behind the content of the last message, which so goes on. Throws
// RequestError where the template does not show that content as it is.
void end_with_final_message(const boost::json::array& messages, RenderedChat* chat);

}  // namespace hearth
