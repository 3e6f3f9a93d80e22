// Translates a body of POST /v1/responses or /v1/responses/input_tokens (OpenAI's Responses API) to
// the body of a chat completion that asks for the same; server/completion_request.h reads that one.
// docs/api.md has every field.
//
// The items of `input` become messages. An agent's second request returns the items of the first
// reply, and its messages begin with those of the first request, unchanged (so that their KV pages
// are found again):
//
// - `instructions` and the system and developer messages before all others become one system
//   message. Later ones become the user's text, since most templates allow no other place.
// - Consecutive messages of the user become one, with a blank line between them.
// - Consecutive reasoning, assistant's message and calls become one message, in this order.
//
// Fields that are null count as missing. Unknown ones are ignored, as clients of that API keep
// sending new ones.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "server/completion_request.h"
#include "server/responses_names.h"

namespace hearth {

// A function of a tool of the type `namespace`. The model sees the name "SPACE__NAME".
struct NamespacedTool {
  std::string space, name;
};

// The request's members that a reply repeats, and how the reply shows reasoning.
struct ResponsesEcho {
  boost::json::object members;  // "instructions", "tools", ...
  // Functions of namespaces, by the names that the model sees.
  std::map<std::string, NamespacedTool, std::less<>> namespaced;
  bool summary = false;  // reasoning also as a summary
  // Reasoning also as encrypted_content.
  bool carried = false;
};

struct ResponsesBody {
  boost::json::object chat;
  ResponsesNames names;
  // The tools and items of kinds that are left out: "tools[3]: web_search".
  std::vector<std::string> ignored;
  ResponsesEcho echo;
};

// Translates the client's body. Throws RequestError; errors in values of the chat are left to
// read_responses_call().
ResponsesBody read_responses_body(std::string_view body, const RequestLimits& limits);

// Reads the made chat's body. Throws RequestError; errors use the names of the client's body.
CompletionCall read_responses_call(const ResponsesBody& body, const SamplingParams& defaults,
                                   const RequestLimits& limits, uint32_t vocabulary);

// Returns the names of all fields that read_responses_body() looks at.
std::vector<std::string_view> responses_field_names();

}  // namespace hearth
