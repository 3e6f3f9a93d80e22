// Writes a response of OpenAI's Responses API, its items and its usage as JSON.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "http/api_error.h"
#include "server/reply_bodies.h"
#include "server/responses_request.h"

namespace hearth {

// An output item of a response: reasoning, a message or a tool call.
struct ResponseItem {
  enum class Kind : uint8_t { kReasoning, kMessage, kCall };
  Kind kind;
  std::string id;            // the same in all events
  std::string text = {};     // reasoning, the message, or a call's arguments
  std::string call_id = {};  // only calls have this and the next two
  std::string name = {};     // the function's name for clients
  std::string space = {};    // the namespace of the function
  std::string_view status = "in_progress";
};

// The members that all states of one response share.
struct ResponseHead {
  std::string unique;  // the HTTP request's id
  std::string model;
  int64_t created = 0;  // seconds since 1970
  float temperature = 1, top_p = 1;
  ResponsesEcho echo = {};
};

// The members of a response that change until its end.
struct ResponseState {
  std::string_view status = "in_progress";  // "completed", "incomplete", "failed"
  std::span<const ResponseItem> items = {};
  const Usage* usage = nullptr;     // null: not known yet
  const ApiError* error = nullptr;  // why the response failed; null: it did not
};

// Writes the content part that holds the text of a message or of reasoning.
void write_response_part(Json& json, ResponseItem::Kind kind, std::string_view text);
// Writes the summary part that holds the text of reasoning.
void write_summary_part(Json& json, std::string_view text);
void write_response_item(Json& json, const ResponseHead& head, const ResponseItem& item);
void write_response(Json& json, const ResponseHead& head, const ResponseState& state);

// Returns the reply of /v1/responses/input_tokens.
std::string response_tokens_body(uint64_t tokens);

}  // namespace hearth
