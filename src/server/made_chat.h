// Reads a body that was made from one of another API, in most cases as the body of a chat
// completion.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <utility>

#include "server/completion_request.h"

namespace hearth {

// An error's field in the client's words, and in its message where that begins with it.
template <typename Names>
ApiError with_own_names(const Names& names, ApiError error) {
  if (!error.param) return error;
  if (error.message.starts_with(*error.param)) error.message = names.translated(error.message);
  error.param = names.translated(*error.param);
  return error;
}

// Reads a made body by `read()`, which gives a CompletionCall. `names.translated()` turns a text
// that begins with the name of a field of the made body, or an error about one, into what the
// client's body calls it. Throws RequestError in these names; tools and the text's shape are called
// by them, too.
template <typename Names, typename Read>
CompletionCall read_made(const Names& names, const Read& read) {
  try {
    CompletionCall call = read();
    for (Tool& tool : call.turn.tools) tool.where = names.translated(tool.where);
    call.shape.name = names.translated(call.shape.name);
    return call;
  } catch (const RequestError& error) {
    throw RequestError(names.translated(error.api()));
  }
}

template <typename Names>
CompletionCall read_made_chat(const boost::json::object& chat, const Names& names,
                              const SamplingParams& defaults, const RequestLimits& limits,
                              uint32_t vocabulary) {
  return read_made(names, [&] { return read_chat_call(chat, defaults, limits, vocabulary); });
}

}  // namespace hearth
