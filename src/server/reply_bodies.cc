#include "server/reply_bodies.h"

#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/json.h"
#include "base/utf8_stream.h"

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

void write_chat_entry(Json& json, const TokenEntry& entry) {
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

// The lists that log-probabilities are, of a chat and of a text: a value in each for every entry.
constexpr std::array<const char*, 1> kChatLists = {"content"};
constexpr std::array<const char*, 4> kTextLists = {"tokens", "token_logprobs", "top_logprobs",
                                                   "text_offset"};

std::span<const char* const> list_names(const ReplyHead& head) {
  if (head.chat) return kChatLists;
  return kTextLists;
}

void write_entry(Json& json, const ReplyHead& head, size_t list, const TokenEntry& entry) {
  if (head.chat) return write_chat_entry(json, entry);
  switch (list) {
    case 0:
      json.text(entry.bytes);
      break;
    case 1:
      json.real(shown_logprob(entry.logprob));
      break;
    case 2:
      write_top(json, entry);
      break;
    default:
      json.number(entry.offset);
  }
}

void end_lists(Json& json, const ReplyHead& head) {
  if (head.chat) json.key("refusal").null();
  json.end_object();
}

void write_lists(Json& json, const ReplyHead& head, std::span<const TokenEntry> entries) {
  std::span<const char* const> names = list_names(head);
  json.object();
  for (size_t list = 0; list < names.size(); ++list) {
    json.key(names[list]).array();
    for (const TokenEntry& entry : entries) write_entry(json, head, list, entry);
    json.end_array();
  }
  end_lists(json, head);
}

void write_chunk_logprobs(Json& json, const ReplyHead& head, const ChoicePart& part) {
  json.key("logprobs");
  if (!head.logprobs || part.entries.empty()) {
    json.null();
  } else {
    write_lists(json, head, part.entries);
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
  write_chunk_logprobs(json, head, part);
  write_finish(json, part.finish);
  json.end_object();
  return close_chunk(json, head);
}

// Up to its log-probabilities.
void begin_text_choice(Json& json, const ChoicePart& part) {
  json.object().key("index").number(uint64_t{part.index}).key("text").text(part.text);
}

void begin_chat_choice(Json& json, const ChoicePart& part) {
  json.object().key("index").number(uint64_t{part.index}).key("message").object();
  json.key("role").text("assistant").key("content").text(part.text).key("refusal").null();
  json.end_object();
}

std::string text_chunk(const ReplyHead& head, const ChoicePart& part) {
  Json json;
  open_reply(json, head, true);
  begin_text_choice(json, part);
  write_chunk_logprobs(json, head, part);
  write_finish(json, part.finish);
  json.end_object();
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

CompletionBody::CompletionBody(ReplyHead head, std::vector<ChoicePart> choices, const Usage& usage)
    : head_(std::move(head)), choices_(std::move(choices)), usage_(usage) {
  open_reply(json_, head_, false);
}

bool CompletionBody::next(std::string* body) {
  bool any = true;
  while (any && json_.size() < kPieceBytes) any = step();
  *body += json_.take();
  if (!any) *body += '\n';
  return any;
}

// Writes a little more; false where that was the last.
bool CompletionBody::step() {
  if (choice_ == choices_.size()) {
    json_.end_array();
    write_usage(json_, usage_);
    json_.end_object();
    return false;
  }
  ChoicePart& choice = choices_[choice_];
  if (!begun_) {
    HEARTH_CHECK(choice.finish.has_value(), "a whole choice has ended");
    begun_ = true;
    head_.chat ? begin_chat_choice(json_, choice) : begin_text_choice(json_, choice);
    json_.key("logprobs");
    head_.logprobs ? json_.object() : json_.null();
    return true;
  }
  if (head_.logprobs && list_ < list_names(head_).size()) {
    if (entry_ == 0) json_.key(list_names(head_)[list_]).array();
    if (entry_ < choice.entries.size()) write_entry(json_, head_, list_, choice.entries[entry_]);
    if (++entry_ < choice.entries.size()) return true;
    json_.end_array();
    entry_ = 0;
    ++list_;
    return true;
  }
  if (head_.logprobs) end_lists(json_, head_);
  write_finish(json_, choice.finish);
  json_.end_object();
  choice = {};  // its memory
  ++choice_;
  begun_ = false;
  list_ = 0;
  return true;
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

TokensBody::TokensBody(std::vector<int32_t> tokens) : tokens_(std::move(tokens)) {
  json_.object().key("tokens").array();
}

bool TokensBody::next(std::string* body) {
  while (at_ < tokens_.size() && json_.size() < kPieceBytes) json_.integer(tokens_[at_++]);
  bool any = at_ < tokens_.size();
  if (!any) json_.end_array().key("count").number(uint64_t{tokens_.size()}).end_object();
  *body += json_.take();
  if (!any) *body += '\n';
  return any;
}

bool WholeTextBody::more(std::string* bytes) {
  std::string_view part = std::string_view(text_).substr(at_, kPieceBytes / 16);
  bytes->append(part);
  at_ += part.size();
  return at_ < text_.size();
}

std::string health_body(std::string_view status) { return one_text("status", status); }

}  // namespace hearth
