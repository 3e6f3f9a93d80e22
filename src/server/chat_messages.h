// The messages of a chat as a client sent them, and as a chat template takes them.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <string>

#include "template/chat_template.h"

namespace hearth {

// Reads the field `messages` of a body (required, 1 to `most` of them).
//
// Each message becomes an object with `role` and `content` first: the role `developer` becomes
// `system`, an array of text parts becomes one text with newlines between, and missing content
// beside calls becomes "". Then come, where given, `tool_calls` in OpenAI's form (`arguments` as
// the client sent them: JSON text or an object), `tool_call_id`, and `reasoning_content`, which is
// also read under the name `reasoning`. Other members stay as they are, but null ones are dropped.
// server/turn_history.h then brings calls and reasoning into the form that the template wants.
//
// Throws RequestError, also for images, audio and files.
boost::json::array read_messages(const boost::json::object& body, size_t most);

// Reads the field add_generation_prompt and adds it to the template's variables `kwargs`, unless
// chat_template_kwargs, read before, set it.
void read_generation_prompt(const boost::json::value& field, const std::string& name,
                            boost::json::object* kwargs);
// Reads the field continue_final_message and returns it; call it after read_generation_prompt().
// True sets add_generation_prompt to false in `kwargs`. Throws RequestError if the request sets
// that to true.
bool read_continue_final(const boost::json::value& field, const std::string& name,
                         boost::json::object* kwargs);
// Cuts off the text that a template wrote after the last message's content, so that generation
// continues that message. Throws RequestError where the rendered text does not contain the content
// as it is.
void end_with_final_message(const boost::json::array& messages, RenderedChat* chat);

}  // namespace hearth
