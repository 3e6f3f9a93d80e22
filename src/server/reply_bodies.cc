#include "server/reply_bodies.h"

#include <cmath>
#include <set>

#include "base/check.h"
#include "text/json.h"
#include "text/utf8_stream.h"

namespace hearth {
namespace {

// JSON has no -inf; this is what OpenAI's API has for it.
constexpr double kNever = -9999;

double shown_logprob(double logprob) { return std::isfinite(logprob) ? logprob : kNever; }

// As Json writes it.
std::string shown(std::string_view bytes) {
  Utf8Stream stream;
  std::string text = stream.push(bytes);
  return text + stream.flush();
}

std::string event(const Json& json) { return "data: " + json.line() + "\n"; }

void write_token(Json& json, std::string_view bytes, double logprob) {
  json.key("token").text(bytes).key("logprob").real(shown_logprob(logprob)).key("bytes").array();
  for (char byte : bytes) json.number(uint64_t{static_cast<unsigned char>(byte)});
  json.end_array();
}

void write_chat_logprobs(Json& json, std::span<const TokenEntry> entries) {
  json.object().key("content").array();
  for (const TokenEntry& entry : entries) {
    json.object();
    write_token(json, entry.bytes, entry.logprob);
    json.key("top_logprobs").array();
    for (const auto& [bytes, logprob] : entry.top) {
      json.object();
      write_token(json, bytes, logprob);
      json.end_object();
    }
    json.end_array().end_object();
  }
  json.end_array().key("refusal").null().end_object();
}

// Tokens that are parts of characters may look alike: the likeliest one's name counts, and the
// chosen token's always.
void write_top(Json& json, const TokenEntry& entry) {
  std::set<std::string> seen;
  auto write = [&](std::string_view bytes, double logprob) {
    if (!seen.insert(shown(bytes)).second) return;
    json.key(bytes).real(shown_logprob(logprob));
  };
  json.object();
  for (const auto& [bytes, logprob] : entry.top) write(bytes, logprob);
  write(entry.bytes, entry.logprob);
  json.end_object();
}

void write_text_logprobs(Json& json, std::span<const TokenEntry> entries) {
  json.object().key("tokens").array();
  for (const TokenEntry& entry : entries) json.text(entry.bytes);
  json.end_array().key("token_logprobs").array();
  for (const TokenEntry& entry : entries) json.real(shown_logprob(entry.logprob));
  json.end_array().key("top_logprobs").array();
  for (const TokenEntry& entry : entries) write_top(json, entry);
  json.end_array().key("text_offset").array();
  for (const TokenEntry& entry : entries) json.number(entry.offset);
  json.end_array().end_object();
}

// A chunk without entries has null.
void write_logprobs(Json& json, const ReplyHead& head, const ChoicePart& part, bool chunk) {
  json.key("logprobs");
  if (!head.logprobs || (chunk && part.entries.empty())) {
    json.null();
  } else if (head.chat) {
    write_chat_logprobs(json, part.entries);
  } else {
    write_text_logprobs(json, part.entries);
  }
}

void write_finish(Json& json, std::optional<Finish> finish) {
  json.key("finish_reason");
  if (!finish) {
    json.null();
    return;
  }
  std::optional<std::string_view> reason = finish_reason(*finish);
  HEARTH_CHECK(reason.has_value(), "what failed is told as an error");
  json.text(*reason);
}

void write_usage(Json& json, const Usage& usage) {
  json.key("usage").object();
  json.key("prompt_tokens").number(usage.prompt_tokens);
  json.key("completion_tokens").number(usage.completion_tokens);
  json.key("total_tokens").number(usage.prompt_tokens + usage.completion_tokens);
  json.key("prompt_tokens_details").object();
  json.key("cached_tokens").number(usage.cached_tokens).key("audio_tokens").number(uint64_t{0});
  json.end_object().key("completion_tokens_details").object();
  for (const char* kind : {"reasoning_tokens", "audio_tokens", "accepted_prediction_tokens",
                           "rejected_prediction_tokens"}) {
    json.key(kind).number(uint64_t{0});
  }
  json.end_object().end_object();
}

void open_reply(Json& json, const ReplyHead& head, bool chunk) {
  std::string_view object = !head.chat ? "text_completion"
                            : chunk    ? "chat.completion.chunk"
                                       : "chat.completion";
  json.object().key("id").text(head.id).key("object").text(object);
  json.key("created").integer(head.created).key("model").text(head.model);
  json.key("system_fingerprint").text(head.fingerprint).key("choices").array();
}

std::string close_chunk(Json& json, const ReplyHead& head) {
  json.end_array();
  if (head.include_usage) json.key("usage").null();
  json.end_object();
  return event(json);
}

// `role`: the first chunk of a choice has it.
std::string chat_chunk(const ReplyHead& head, const ChoicePart& part, bool role) {
  Json json;
  open_reply(json, head, true);
  json.object().key("index").number(uint64_t{part.index}).key("delta").object();
  if (role) json.key("role").text("assistant");
  if (!part.finish) json.key("content").text(part.text);
  if (role) json.key("refusal").null();
  json.end_object();
  write_logprobs(json, head, part, true);
  write_finish(json, part.finish);
  json.end_object();
  return close_chunk(json, head);
}

void write_text_choice(Json& json, const ReplyHead& head, const ChoicePart& part, bool chunk) {
  json.object().key("index").number(uint64_t{part.index}).key("text").text(part.text);
  write_logprobs(json, head, part, chunk);
  write_finish(json, part.finish);
  json.end_object();
}

void write_chat_choice(Json& json, const ReplyHead& head, const ChoicePart& part) {
  json.object().key("index").number(uint64_t{part.index}).key("message").object();
  json.key("role").text("assistant").key("content").text(part.text).key("refusal").null();
  json.end_object();
  write_logprobs(json, head, part, false);
  write_finish(json, part.finish);
  json.end_object();
}

std::string text_chunk(const ReplyHead& head, const ChoicePart& part) {
  Json json;
  open_reply(json, head, true);
  write_text_choice(json, head, part, true);
  return close_chunk(json, head);
}

void write_model(Json& json, const ModelInfo& model) {
  json.object().key("id").text(model.id).key("object").text("model");
  json.key("created").integer(model.created).key("owned_by").text("hearth");
  json.key("max_model_len").number(uint64_t{model.context}).end_object();
}

std::string one_text(std::string_view key, std::string_view text) {
  Json json;
  json.object().key(key).text(text).end_object();
  return json.line();
}

}  // namespace

std::string reply_id(bool chat, std::string_view unique) {
  return (chat ? "chatcmpl-" : "cmpl-") + std::string(unique);
}

std::optional<std::string_view> finish_reason(Finish finish) {
  switch (finish) {
    case Finish::kEndOfText:
    case Finish::kStopString:
      return "stop";
    case Finish::kLength:
    case Finish::kContext:
      return "length";
    default:
      return {};
  }
}

std::string completion_body(const ReplyHead& head, std::span<const ChoicePart> choices,
                            const Usage& usage) {
  Json json;
  open_reply(json, head, false);
  for (const ChoicePart& choice : choices) {
    HEARTH_CHECK(choice.finish.has_value(), "a whole choice has ended");
    if (head.chat) {
      write_chat_choice(json, head, choice);
    } else {
      write_text_choice(json, head, choice, false);
    }
  }
  json.end_array();
  write_usage(json, usage);
  json.end_object();
  return json.line();
}

std::string first_event(const ReplyHead& head, uint32_t choice) {
  return head.chat ? chat_chunk(head, {choice, "", {}, {}}, true) : "";
}

std::string part_events(const ReplyHead& head, const ChoicePart& part) {
  auto chunk = [&](const ChoicePart& one) {
    return head.chat ? chat_chunk(head, one, false) : text_chunk(head, one);
  };
  std::string events;
  if (!part.text.empty() || !part.entries.empty()) {
    events = chunk({part.index, part.text, part.entries, {}});
  }
  if (part.finish && finish_reason(*part.finish))
    events += chunk({part.index, "", {}, part.finish});
  return events;
}

std::string usage_event(const ReplyHead& head, const Usage& usage) {
  Json json;
  open_reply(json, head, true);
  json.end_array();
  write_usage(json, usage);
  json.end_object();
  return event(json);
}

std::string error_event(const ApiError& error) { return "data: " + error_body(error) + "\n\n"; }

std::string model_body(const ModelInfo& model) {
  Json json;
  write_model(json, model);
  return json.line();
}

std::string model_list_body(std::span<const ModelInfo> models) {
  Json json;
  json.object().key("object").text("list").key("data").array();
  for (const ModelInfo& model : models) write_model(json, model);
  json.end_array().end_object();
  return json.line();
}

std::string tokenize_body(std::span<const int32_t> tokens) {
  Json json;
  json.object().key("tokens").array();
  for (int32_t token : tokens) json.integer(token);
  json.end_array().key("count").number(uint64_t{tokens.size()}).end_object();
  return json.line();
}

std::string detokenize_body(std::string_view text) { return one_text("content", text); }
std::string template_body(std::string_view prompt) { return one_text("prompt", prompt); }
std::string health_body(std::string_view status) { return one_text("status", status); }

}  // namespace hearth
