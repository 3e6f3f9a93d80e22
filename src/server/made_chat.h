// The chat that a body of another API was made into, read as the body of a chat completion.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>

#include "server/completion_request.h"

namespace hearth {

// `names.translated()` turns a text that begins with the name of a field of the chat, or an error
// about one, into what the client's body calls it. Throws RequestError in these names; tools and
// the text's shape are called by them, too.
template <typename Names>
CompletionCall read_made_chat(const boost::json::object& chat, const Names& names,
                              const SamplingParams& defaults, const RequestLimits& limits,
                              uint32_t vocabulary) {
  try {
    CompletionCall call = read_chat_call(chat, defaults, limits, vocabulary);
    for (Tool& tool : call.turn.tools) tool.where = names.translated(tool.where);
    call.shape.name = names.translated(call.shape.name);
    return call;
  } catch (const RequestError& error) {
    throw RequestError(names.translated(error.api()));
  }
}

}  // namespace hearth
