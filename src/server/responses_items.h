// The parts of a response of OpenAI's Responses API, as JSON: its items, itself, its usage.
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

// A part of what a model says in a turn.
struct ResponseItem {
  enum class Kind : uint8_t { kReasoning, kMessage, kCall };
  Kind kind;
  std::string id;            // the same wherever it shows
  std::string text = {};     // of reasoning or a message; the arguments of a call
  std::string call_id = {};  // and of a call:
  std::string name = {};     // as clients know it
  std::string space = {};    // the namespace that the tool is in
  std::string_view status = "in_progress";
};

// The members that all responses to one request share.
struct ResponseHead {
  std::string unique;  // the id of the HTTP request
  std::string model;
  int64_t created = 0;  // seconds since 1970
  float temperature = 1, top_p = 1;
  ResponsesEcho echo = {};
};

// The state of a response.
struct ResponseState {
  std::string_view status = "in_progress";  // "completed", "incomplete", "failed"
  std::span<const ResponseItem> items = {};
  const Usage* usage = nullptr;     // null: not known yet
  const ApiError* error = nullptr;  // of one that failed
};

// The part that the text of an item is: of a message or of reasoning.
void write_response_part(Json& json, ResponseItem::Kind kind, std::string_view text);
// The part that a summary of reasoning is.
void write_summary_part(Json& json, std::string_view text);
void write_response_item(Json& json, const ResponseHead& head, const ResponseItem& item);
void write_response(Json& json, const ResponseHead& head, const ResponseState& state);

// Writes the reply of /v1/responses/input_tokens.
std::string response_tokens_body(uint64_t tokens);

}  // namespace hearth
