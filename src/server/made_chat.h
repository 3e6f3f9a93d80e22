// Reads a body that was translated from another API's body, in most cases to that of a chat
// completion.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <utility>

#include "server/completion_request.h"

namespace hearth {

// Replaces an error's field by its name in the client's body, also at the beginning of the message.
template <typename Names>
ApiError with_own_names(const Names& names, ApiError error) {
  if (!error.param) return error;
  if (error.message.starts_with(*error.param)) error.message = names.translated(error.message);
  error.param = names.translated(*error.param);
  return error;
}

// Reads the translated ("made") body with `read()`, which returns a CompletionCall.
// `names.translated()` takes a text that begins with a field's name in the made body, or an error
// about such a field, and puts the client's name in its place. RequestErrors, and later errors
// about tools and the text's shape, use the client's names.
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
