// Makes of a body of POST /v1/messages or /v1/messages/count_tokens (Anthropic's Messages API) the
// body of a chat completion that asks for the same; server/completion_request.h reads that one.
// docs/api.md has every field.
//
// Fields that are null count as missing, and those that this does not know are ignored, as clients
// of that API send ever new ones.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "http/api_error.h"
#include "server/completion_request.h"

namespace hearth {

// The names that a chat's fields have in the body which it was made of.
struct MessagesNames {
  std::vector<size_t> messages, tools;  // the places of the chat's entries
  std::string schema;                   // of the text's shape

  // "tools[1].input_schema.type is ..." of "tools[0].function.parameters.type is ...": a text that
  // begins with the name of a field.
  std::string translated(std::string_view text) const;
  ApiError translated(ApiError error) const;
};

struct MessagesBody {
  boost::json::object chat;
  MessagesNames names;
  // The tools that Anthropic's servers would run themselves, which are left out:
  // "tools[3]: web_search_20250305".
  std::vector<std::string> ignored;
};

enum class MessagesWish : uint8_t {
  kAnswer,
  kCount,  // needs no max_tokens
};

// Throws RequestError.
MessagesBody read_messages_body(std::string_view body, const RequestLimits& limits,
                                MessagesWish wish);

// Reads the made chat's body. Throws RequestError; errors, tools and the shape of the text are
// called as the client calls them.
CompletionCall read_messages_call(const MessagesBody& body, const SamplingParams& defaults,
                                  const RequestLimits& limits, uint32_t vocabulary);

// The names of all fields that this looks at.
std::vector<std::string_view> messages_field_names();

}  // namespace hearth
