#include "server/responses_items.h"

#include <ctime>

#include "server/json_values.h"
#include "server/responses_reasoning.h"

namespace hearth {
namespace {

using Kind = ResponseItem::Kind;

void write_text_part(Json& json, std::string_view type, std::string_view text) {
  json.object().key("type").text(type).key("text").text(text);
}

void write_item_call(Json& json, const ResponseItem& item) {
  json.key("type").text("function_call").key("status").text(item.status);
  json.key("call_id").text(item.call_id);
  if (!item.space.empty()) json.key("namespace").text(item.space);
  json.key("name").text(item.name).key("arguments").text(item.text);
}

void write_item_reasoning(Json& json, const ResponsesEcho& echo, const ResponseItem& item) {
  json.key("type").text("reasoning").key("status").text(item.status).key("summary").array();
  if (echo.summary && !item.text.empty()) write_summary_part(json, item.text);
  json.end_array().key("content").array();
  if (!item.text.empty()) write_response_part(json, item.kind, item.text);
  json.end_array().key("encrypted_content");
  echo.carried ? json.text(carried_reasoning(item.text)) : json.null();
}

// Writes a message item. A message that has just begun has no content part.
void write_item_message(Json& json, const ResponseItem& item) {
  json.key("type").text("message").key("status").text(item.status);
  json.key("role").text("assistant").key("content").array();
  if (!item.text.empty() || item.status != "in_progress") {
    write_response_part(json, item.kind, item.text);
  }
  json.end_array();
}

// Returns an error's code for a failed response: OpenAI's API lists these, and clients may know no
// others.
std::string_view failure_code(const ApiError& error) {
  if (error.status == 429) return "rate_limit_exceeded";
  return error.status >= 500 ? "server_error" : "invalid_prompt";
}

void write_outcome(Json& json, const ResponseState& state) {
  json.key("error");
  if (state.error != nullptr) {
    json.object().key("code").text(failure_code(*state.error));
    json.key("message").text(state.error->message).end_object();
  } else {
    json.null();
  }
  json.key("incomplete_details");
  if (state.status == "incomplete") {
    json.object().key("reason").text("max_output_tokens").end_object();
  } else {
    json.null();
  }
}

void write_response_usage(Json& json, const Usage& usage) {
  json.key("usage").object().key("input_tokens").number(usage.prompt_tokens);
  json.key("input_tokens_details").object();
  json.key("cached_tokens").number(usage.cached_tokens);
  json.key("cache_write_tokens").number(uint64_t{0}).end_object();
  json.key("output_tokens").number(usage.completion_tokens);
  json.key("output_tokens_details").object();
  json.key("reasoning_tokens").number(usage.reasoning_tokens).end_object();
  json.key("total_tokens").number(usage.prompt_tokens + usage.completion_tokens).end_object();
}

}  // namespace

void write_response_part(Json& json, Kind kind, std::string_view text) {
  if (kind == Kind::kReasoning) {
    write_text_part(json, "reasoning_text", text);
  } else {
    write_text_part(json, "output_text", text);
    json.key("annotations").array().end_array().key("logprobs").array().end_array();
  }
  json.end_object();
}

void write_summary_part(Json& json, std::string_view text) {
  write_text_part(json, "summary_text", text);
  json.end_object();
}

void write_response_item(Json& json, const ResponseHead& head, const ResponseItem& item) {
  json.object().key("id").text(item.id);
  switch (item.kind) {
    case Kind::kReasoning:
      write_item_reasoning(json, head.echo, item);
      break;
    case Kind::kMessage:
      write_item_message(json, item);
      break;
    case Kind::kCall:
      write_item_call(json, item);
  }
  json.end_object();
}

void write_response(Json& json, const ResponseHead& head, const ResponseState& state) {
  json.object().key("id").text("resp_" + head.unique).key("object").text("response");
  json.key("created_at").integer(head.created).key("status").text(state.status);
  json.key("completed_at");
  state.status == "completed" ? json.integer(std::time(nullptr)) : json.null();
  write_outcome(json, state);
  json.key("model").text(head.model).key("output").array();
  for (const ResponseItem& item : state.items) write_response_item(json, head, item);
  json.end_array();
  json.key("temperature").real(head.temperature).key("top_p").real(head.top_p);
  for (const auto& member : head.echo.members) {
    json.key(std::string_view(member.key()));
    write_value(json, member.value());
  }
  if (state.usage != nullptr) write_response_usage(json, *state.usage);
  json.end_object();
}

std::string response_tokens_body(uint64_t tokens) {
  Json json;
  json.object().key("object").text("response.input_tokens");
  json.key("input_tokens").number(tokens).end_object();
  return json.line();
}

}  // namespace hearth
