// Makes of a body of POST /v1/responses or /v1/responses/input_tokens (OpenAI's Responses API) the
// body of a chat completion that asks for the same; server/completion_request.h reads that one.
// docs/api.md has every field.
//
// The items of `input` become messages so that an agent's second request, which brings back the
// items of the first reply, has the first one's messages at its beginning, as they were:
//
// - `instructions` and the system and developer messages before all others are one system message.
//   Those that come later are text of the user's, since most templates take no other place.
// - Messages of the user that follow each other are one, with a blank line between.
// - Reasoning, a message of the assistant and calls that follow each other are one message, in this
//   order: a turn.
//
// Fields that are null count as missing, and those that this does not know are ignored, as clients
// of that API send ever new ones.
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

// A function of a tool of the type namespace. The model knows it as "SPACE__NAME".
struct NamespacedTool {
  std::string space, name;
};

// The members of its request that a reply repeats, and the form in which it gives reasoning.
struct ResponsesEcho {
  boost::json::object members;                                    // "instructions", "tools", ...
  std::map<std::string, NamespacedTool, std::less<>> namespaced;  // by what the model calls them
  bool summary = false;                                           // as a summary, too
  bool carried = false;                                           // as encrypted_content, too
};

struct ResponsesBody {
  boost::json::object chat;
  ResponsesNames names;
  // Tools and items of other kinds, which are left out: "tools[3]: web_search".
  std::vector<std::string> ignored;
  ResponsesEcho echo;
};

// Throws RequestError. What is wrong with the chat's body read_responses_call() finds.
ResponsesBody read_responses_body(std::string_view body, const RequestLimits& limits);

// The chat that it asks for, whose tools and shape are called as in the body. Throws RequestError
// in the body's names.
CompletionCall read_responses_call(const ResponsesBody& body, const SamplingParams& defaults,
                                   const RequestLimits& limits, uint32_t vocabulary);

// The names of all fields that this looks at.
std::vector<std::string_view> responses_field_names();

}  // namespace hearth
