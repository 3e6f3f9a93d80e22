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

// The value that OpenAI's API uses for a log-probability of -inf, which JSON does not have.
constexpr double kNever = -9999;

double shown_logprob(double logprob) { return std::isfinite(logprob) ? logprob : kNever; }

std::string event(const Json& json) { return "data: " + json.line() + "\n"; }

void write_token(Json& json, std::string_view bytes, double logprob) {
  json.key("token").text(bytes).key("logprob").real(shown_logprob(logprob)).key("bytes").array();
  for (char byte : bytes) json.number(uint64_t{static_cast<unsigned char>(byte)});
  json.end_array();
}

// Writes top_logprobs. Tokens that are parts of characters may look alike as text. Of tokens that
// look alike only the likeliest is written. The chosen token is added if none that looks like it
// was written.
void write_top(Json& json, const TokenEntry& entry) {
  std::set<std::string> seen;
  auto write = [&](std::string_view bytes, double logprob) {
    if (!seen.insert(well_formed_utf8(bytes)).second) return;
    json.key(bytes).real(shown_logprob(logprob));
  };
  json.object();
  for (const auto& [bytes, logprob] : entry.top) write(bytes, logprob);
  write(entry.bytes, entry.logprob);
  json.end_object();
}

// The names of the lists that log-probabilities consist of, in a chat and in a completion; each
// list has a value for every entry.
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
      entry.scored ? json.real(shown_logprob(entry.logprob)) : json.null();
      break;
    case 2:
      entry.scored ? write_top(json, entry) : void(json.null());
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

void write_finish(Json& json, const ChoicePart& part) {
  json.key("finish_reason");
  if (!part.finish) {
    json.null();
    return;
  }
  std::optional<std::string_view> reason = finish_reason(part);
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
  json.key("reasoning_tokens").number(usage.reasoning_tokens);
  for (const char* kind :
       {"audio_tokens", "accepted_prediction_tokens", "rejected_prediction_tokens"}) {
    json.key(kind).number(uint64_t{0});
  }
  json.end_object().end_object();
}

double rate_of(uint64_t tokens, double seconds) {
  return seconds > 0 ? static_cast<double>(tokens) / seconds : 0;
}

// Writes `timings` under llama.cpp's names. The time of the prompt ends with the first generated
// token.
void write_timings(Json& json, const Usage& usage) {
  const uint64_t read = usage.prompt_tokens - usage.cached_tokens;
  json.key("timings").object().key("cache_n").number(usage.cached_tokens);
  json.key("prompt_n").number(read).key("prompt_ms").real(usage.prompt_seconds * 1e3);
  json.key("prompt_per_second").real(rate_of(read, usage.prompt_seconds));
  json.key("predicted_n").number(usage.completion_tokens);
  json.key("predicted_ms").real(usage.generation_seconds * 1e3);
  json.key("predicted_per_second").real(generation_rate(usage)).end_object();
}

void open_reply(Json& json, const ReplyHead& head, bool chunk) {
  std::string_view object = !head.chat ? "text_completion"
                            : chunk    ? "chat.completion.chunk"
                                       : "chat.completion";
  json.object().key("id").text(head.id).key("object").text(object);
  json.key("created").integer(head.created).key("model").text(head.model);
  json.key("system_fingerprint").text(head.fingerprint).key("choices").array();
}

// Writes a tool call of a whole reply, or with `piece` a part of a call in a stream.
void write_call(Json& json, const CallPart& call, bool piece) {
  json.object();
  if (piece) json.key("index").number(uint64_t{call.index});
  if (!call.name.empty()) json.key("id").text(call.id).key("type").text("function");
  json.key("function").object();
  if (!call.name.empty()) json.key("name").text(call.name);
  json.key("arguments").text(call.arguments).end_object().end_object();
}

std::string close_chunk(Json& json, const ReplyHead& head) {
  json.end_array();
  if (head.include_usage) json.key("usage").null();
  json.end_object();
  return event(json);
}

// The content of a chunk's delta; a chunk has one kind.
enum class Delta : uint8_t { kRole, kReasoning, kContent, kCall, kFinish };

void write_delta(Json& json, Delta delta, const ChoicePart& part) {
  switch (delta) {
    case Delta::kRole:
      json.key("role").text("assistant").key("content").text("").key("refusal").null();
      break;
    case Delta::kReasoning:
      json.key("reasoning_content").text(part.reasoning);
      break;
    case Delta::kContent:
      json.key("content").text(part.text);
      break;
    case Delta::kCall:
      json.key("tool_calls").array();
      for (const CallPart& call : part.calls) write_call(json, call, true);
      json.end_array();
      break;
    case Delta::kFinish:
      break;
  }
}

std::string chat_chunk(const ReplyHead& head, const ChoicePart& part, Delta delta) {
  Json json;
  open_reply(json, head, true);
  json.object().key("index").number(uint64_t{part.index}).key("delta").object();
  write_delta(json, delta, part);
  json.end_object();
  write_chunk_logprobs(json, head, part);
  write_finish(json, part);
  json.end_object();
  return close_chunk(json, head);
}

// Returns the events of a part, except its finish.
std::string chat_chunks(const ReplyHead& head, ChoicePart part) {
  std::string events;
  if (!part.reasoning.empty()) {
    events += chat_chunk(head, {.index = part.index, .reasoning = std::move(part.reasoning)},
                         Delta::kReasoning);
  }
  if (!part.text.empty() || !part.entries.empty()) {
    events += chat_chunk(
        head,
        {.index = part.index, .text = std::move(part.text), .entries = std::move(part.entries)},
        Delta::kContent);
  }
  auto send_call = [&](CallPart call) {
    ChoicePart piece{.index = part.index};
    piece.calls.push_back(std::move(call));
    events += chat_chunk(head, piece, Delta::kCall);
  };
  for (CallPart& call : part.calls) {
    std::string arguments = std::move(call.arguments);
    call.arguments.clear();
    if (!call.name.empty()) send_call(call);
    if (!arguments.empty()) {
      send_call({.index = call.index, .arguments = std::move(arguments)});
    }
  }
  return events;
}

// Begins a choice of a completion; its log-probabilities follow.
void begin_text_choice(Json& json, const ChoicePart& part) {
  json.object().key("index").number(uint64_t{part.index}).key("text").text(part.text);
}

void begin_chat_choice(Json& json, const ChoicePart& part) {
  json.object().key("index").number(uint64_t{part.index}).key("message").object();
  json.key("role").text("assistant").key("content");
  part.text.empty() && !part.calls.empty() ? json.null() : json.text(part.text);
  json.key("refusal").null();
  if (!part.reasoning.empty()) json.key("reasoning_content").text(part.reasoning);
  if (!part.calls.empty()) {
    json.key("tool_calls").array();
    for (const CallPart& call : part.calls) write_call(json, call, false);
    json.end_array();
  }
  json.end_object();
}

std::string text_chunk(const ReplyHead& head, const ChoicePart& part) {
  Json json;
  open_reply(json, head, true);
  begin_text_choice(json, part);
  write_chunk_logprobs(json, head, part);
  write_finish(json, part);
  json.end_object();
  return close_chunk(json, head);
}

void write_model(Json& json, const ModelInfo& model) {
  json.object().key("id").text(model.id).key("object").text("model");
  json.key("created").integer(model.created).key("owned_by").text("hearth");
  json.key("max_model_len").number(uint64_t{model.context});
  json.key("status").object().key("value").text(model.status);
  if (model.status == "failed") json.key("message").text(model.failure);
  json.end_object().end_object();
}

std::string one_text(std::string_view key, std::string_view text) {
  Json json;
  json.object().key(key).text(text).end_object();
  return json.line();
}

}  // namespace

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

std::optional<std::string_view> finish_reason(const ChoicePart& part) {
  if (!part.finish) return {};
  std::optional<std::string_view> reason = finish_reason(*part.finish);
  return part.called && reason == "stop" ? "tool_calls" : reason;
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

// Writes the next piece; false after the last one.
bool CompletionBody::step() {
  if (choice_ == choices_.size()) {
    json_.end_array();
    write_usage(json_, usage_);
    if (head_.timings) write_timings(json_, usage_);
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
  write_finish(json_, choice);
  json_.end_object();
  choice = {};  // frees its memory
  ++choice_;
  begun_ = false;
  list_ = 0;
  return true;
}

std::string first_event(const ReplyHead& head, uint32_t choice) {
  return head.chat ? chat_chunk(head, {.index = choice}, Delta::kRole) : "";
}

std::string part_events(const ReplyHead& head, const ChoicePart& part) {
  std::string events;
  if (head.chat) {
    events = chat_chunks(head, part);
  } else if (!part.text.empty() || !part.entries.empty()) {
    events = text_chunk(head, {.index = part.index, .text = part.text, .entries = part.entries});
  }
  if (!finish_reason(part)) return events;
  const ChoicePart last{.index = part.index, .finish = part.finish, .called = part.called};
  return events + (head.chat ? chat_chunk(head, last, Delta::kFinish) : text_chunk(head, last));
}

double generation_rate(const Usage& usage) {
  return rate_of(usage.completion_tokens - usage.texts, usage.generation_seconds);
}

void write_progress(Json& json, const PromptProgress& progress) {
  json.key("prompt_progress").object().key("total").number(progress.total);
  json.key("cache").number(progress.cached).key("processed").number(progress.read);
  json.key("time_ms").real(progress.seconds * 1e3).end_object();
}

std::string progress_event(const ReplyHead& head, const PromptProgress& progress) {
  Json json;
  open_reply(json, head, true);
  json.end_array();
  if (head.include_usage) json.key("usage").null();
  write_progress(json, progress);
  json.end_object();
  return event(json);
}

std::string usage_event(const ReplyHead& head, const Usage& usage) {
  Json json;
  open_reply(json, head, true);
  json.end_array();
  if (head.include_usage) write_usage(json, usage);
  if (head.timings) write_timings(json, usage);
  json.end_object();
  return event(json);
}

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
