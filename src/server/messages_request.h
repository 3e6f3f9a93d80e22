// Translates a body of POST /v1/messages or /v1/messages/count_tokens (Anthropic's Messages API) to
// the body of a chat completion that asks for the same; server/completion_request.h reads that one.
// docs/api.md has every field.
//
// Fields that are null count as missing. Unknown ones are ignored, as clients of that API keep
// sending new ones.
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

// MessagesNames: translates names of fields in the made chat's body to those in the client's body.
struct MessagesNames {
  std::vector<size_t> messages, tools;  // indices in the client's body of the chat's entries
  std::string schema;                   // the path of the schema for the text

  // Translates a text that begins with a field's name: "tools[0].function.parameters.type is ..."
  // to "tools[1].input_schema.type is ...".
  std::string translated(std::string_view text) const;
  ApiError translated(ApiError error) const;
};

struct MessagesBody {
  boost::json::object chat;
  MessagesNames names;
  // The tools that only Anthropic's servers could run; they are left out: "tools[3]:
  // web_search_20250305".
  std::vector<std::string> ignored;
};

enum class MessagesWish : uint8_t {
  kAnswer,
  kCount,  // /v1/messages/count_tokens, which needs no max_tokens
};

// Translates the client's body. Throws RequestError.
MessagesBody read_messages_body(std::string_view body, const RequestLimits& limits,
                                MessagesWish wish);

// Reads the made chat's body. Throws RequestError; errors use the names of the client's body.
CompletionCall read_messages_call(const MessagesBody& body, const SamplingParams& defaults,
                                  const RequestLimits& limits, uint32_t vocabulary);

// Returns the names of all fields that read_messages_body() looks at.
std::vector<std::string_view> messages_field_names();

}  // namespace hearth
