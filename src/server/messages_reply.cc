#include "server/messages_reply.h"

#include <fmt/format.h>

#include <optional>
#include <ranges>

#include "base/check.h"
#include "server/json_values.h"

namespace hearth {
namespace {

// The signature of all reasoning. Clients send it back with the reasoning, and it is not checked.
constexpr std::string_view kSignature = "aGVhcnRo";
constexpr std::string_view kCallId = "call_", kRequestId = "req_";

std::string messages_event(std::string_view name, const Json& json) {
  return fmt::format("event: {}\ndata: {}\n", name, json.line());
}

// Begins an event, whose `type` is its own name.
Json& begin_messages_event(Json& json, std::string_view name) {
  return json.object().key("type").text(name);
}

std::string message_id(std::string_view unique) {
  return fmt::format("msg_{}",
                     unique.substr(unique.starts_with(kRequestId) ? kRequestId.size() : 0));
}

// Gives a call the form of id that Anthropic's API has, unless the model's template made an id of
// its own.
std::string tool_use_id(std::string_view id) {
  return id.starts_with(kCallId) ? fmt::format("toolu_{}", id.substr(kCallId.size()))
                                 : std::string(id);
}

// Writes a message's usage. Tokens found in the cache are not counted as input_tokens.
void write_message_usage(Json& json, const Usage& usage) {
  json.key("usage").object();
  json.key("input_tokens").number(usage.prompt_tokens - usage.cached_tokens);
  json.key("cache_creation_input_tokens").number(uint64_t{0});
  json.key("cache_read_input_tokens").number(usage.cached_tokens);
  json.key("output_tokens").number(usage.completion_tokens);
  json.key("output_tokens_details").object();
  json.key("thinking_tokens").number(usage.reasoning_tokens).end_object().end_object();
}

std::string_view stop_reason(const ChoicePart& part) {
  const std::optional<std::string_view> reason = finish_reason(part);
  HEARTH_CHECK(reason.has_value(), "what failed is told as an error");
  if (*reason == "length") return "max_tokens";
  if (*reason == "tool_calls") return "tool_use";
  return part.finish == Finish::kStopString ? "stop_sequence" : "end_turn";
}

void write_stop_reason(Json& json, const ChoicePart& part) {
  json.key("stop_reason").text(stop_reason(part)).key("stop_sequence");
  if (part.stop.empty()) {
    json.null();
  } else {
    json.text(part.stop);
  }
}

// Opens a message and writes its members up to its content.
void open_message(Json& json, std::string_view unique, std::string_view model) {
  json.object().key("id").text(message_id(unique)).key("type").text("message");
  json.key("role").text("assistant").key("model").text(model).key("content").array();
}

void open_tool_use(Json& json, const CallPart& call) {
  json.object().key("type").text("tool_use").key("id").text(tool_use_id(call.id));
  json.key("name").text(call.name).key("input");
}

// MessageBody: writes the body of a message block by block.
class MessageBody final : public BodySource {
 public:
  MessageBody(std::string_view unique, std::string_view model, ChoicePart choice,
              const Usage& usage)
      : choice_(std::move(choice)), usage_(usage) {
    open_message(json_, unique, model);
  }

  bool next(std::string* body) override {
    bool any = true;
    while (any && json_.size() < kPieceBytes) any = step();
    *body += json_.take();
    if (!any) *body += '\n';
    return any;
  }

 private:
  // Writes the next block; false after the last one.
  bool step() {
    if (!choice_.reasoning.empty()) {
      json_.object().key("type").text("thinking").key("thinking").text(choice_.reasoning);
      json_.key("signature").text(kSignature).end_object();
      choice_.reasoning = {};
    } else if (!choice_.text.empty()) {
      json_.object().key("type").text("text").key("text").text(choice_.text).end_object();
      choice_.text = {};
    } else if (call_ < choice_.calls.size()) {
      const CallPart call = std::move(choice_.calls[call_++]);
      open_tool_use(json_, call);
      write_arguments(json_, call.arguments);
      json_.end_object();
    } else {
      json_.end_array();
      write_stop_reason(json_, choice_);
      write_message_usage(json_, usage_);
      json_.end_object();
      return false;
    }
    return true;
  }

  ChoicePart choice_;  // each member is emptied when it is written
  const Usage usage_;
  Json json_;
  size_t call_ = 0;  // the next call to write
};

std::string_view messages_error_type(unsigned status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 413:
      return "request_too_large";
    case 429:
      return "rate_limit_error";
    case 503:
    case 529:
      return "overloaded_error";
    default:
      return status >= 500 ? "api_error" : "invalid_request_error";
  }
}

std::string cut_message(const std::string& text, size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;
  return text.substr(0, most) + "...";
}

std::string write_messages_error(const ApiError& error, std::string_view unique, size_t most) {
  Json json;
  begin_messages_event(json, "error").key("error").object();
  json.key("type").text(messages_error_type(error.status));
  json.key("message").text(cut_message(error.message, most));
  if (error.code == kThreadCode) {
    json.key("details").object().key("error_code").text(kThreadCode);
    json.key("unsupported").array().text("thread").end_array().end_object();
  }
  json.end_object();
  json.key("request_id").text(unique).end_object();
  return json.line();
}

}  // namespace

std::string MessagesReply::begin(const Usage& usage, uint32_t) {
  Json json;
  begin_messages_event(json, "message_start").key("message");
  open_message(json, unique_, model_);
  json.end_array().key("stop_reason").null().key("stop_sequence").null();
  write_message_usage(json, usage);
  json.end_object().end_object();
  Json ping;
  begin_messages_event(ping, "ping").end_object();
  return messages_event("message_start", json) + messages_event("ping", ping);
}

// Reports progress in a ping event: clients that do not look into it ignore it.
std::string MessagesReply::progress(const PromptProgress& progress) {
  Json ping;
  write_progress(begin_messages_event(ping, "ping"), progress);
  ping.end_object();
  return messages_event("ping", ping);
}

std::string MessagesReply::open(Block kind, const CallPart& call) {
  std::string events = close();
  Json json;
  begin_messages_event(json, "content_block_start")
      .key("index")
      .number(index_)
      .key("content_block");
  if (kind == Block::kCall) {
    open_tool_use(json, call);
    json.object().end_object().end_object();
  } else if (kind == Block::kText) {
    json.object().key("type").text("text").key("text").text("").end_object();
  } else {
    json.object().key("type").text("thinking").key("thinking").text("");
    json.key("signature").text("").end_object();
  }
  json.end_object();
  block_ = kind;
  call_ = call.index;
  return events + messages_event("content_block_start", json);
}

// Adds a delta to the open block, and first opens one of this kind if another or none is open.
std::string MessagesReply::add(Block kind, std::string_view delta) {
  if (delta.empty()) return "";
  struct Names {
    std::string_view type, member;
  };
  const Names names = kind == Block::kThinking ? Names{"thinking_delta", "thinking"}
                      : kind == Block::kText   ? Names{"text_delta", "text"}
                                               : Names{"input_json_delta", "partial_json"};
  return delta_event(names.type, names.member, delta);
}

std::string MessagesReply::delta_event(std::string_view type, std::string_view member,
                                       std::string_view text) const {
  Json json;
  begin_messages_event(json, "content_block_delta").key("index").number(index_);
  json.key("delta").object().key("type").text(type).key(member).text(text);
  json.end_object().end_object();
  return messages_event("content_block_delta", json);
}

std::string MessagesReply::close() {
  if (block_ == Block::kNone) return "";
  std::string events;
  if (block_ == Block::kThinking) {
    events = delta_event("signature_delta", "signature", kSignature);
  }
  Json json;
  begin_messages_event(json, "content_block_stop").key("index").number(index_).end_object();
  block_ = Block::kNone;
  ++index_;
  return events + messages_event("content_block_stop", json);
}

std::string MessagesReply::add_call(const CallPart& call) {
  std::string events;
  if (!call.name.empty()) events = open(Block::kCall, call);
  return events + add(Block::kCall, call.arguments);
}

// Arguments that continue the open call come before reasoning and text, which open other blocks.
std::string MessagesReply::part(const ChoicePart& part) {
  std::string events;
  auto calls = part.calls.begin();
  while (calls != part.calls.end() && calls->name.empty() && block_ == Block::kCall &&
         calls->index == call_) {
    events += add_call(*calls++);
  }
  if (!part.reasoning.empty()) {
    if (block_ != Block::kThinking) events += open(Block::kThinking, {});
    events += add(Block::kThinking, part.reasoning);
  }
  if (!part.text.empty()) {
    if (block_ != Block::kText) events += open(Block::kText, {});
    events += add(Block::kText, part.text);
  }
  for (; calls != part.calls.end(); ++calls) events += add_call(*calls);
  if (part.finish) {
    finish_.finish = part.finish;
    finish_.called = part.called;
    finish_.stop = part.stop;
  }
  return events;
}

std::string MessagesReply::end(const Usage& usage) {
  std::string events = close();
  Json json;
  begin_messages_event(json, "message_delta").key("delta").object();
  write_stop_reason(json, finish_);
  json.end_object();
  write_message_usage(json, usage);
  json.end_object();
  Json stop;
  begin_messages_event(stop, "message_stop").end_object();
  return events + messages_event("message_delta", json) + messages_event("message_stop", stop);
}

std::string MessagesReply::error(const ApiError& error) {
  return fmt::format("event: error\ndata: {}\n", messages_error_body(error, unique_));
}

std::unique_ptr<BodySource> MessagesReply::whole(std::vector<ChoicePart> choices,
                                                 const Usage& usage) {
  HEARTH_CHECK(choices.size() == 1, "a message is one choice");
  return std::make_unique<MessageBody>(unique_, model_, std::move(choices.front()), usage);
}

std::string messages_error_body(const ApiError& error, std::string_view unique) {
  // The message is cut until the body fits: a character may take six bytes in JSON.
  size_t most = 800;
  std::string body = write_messages_error(error, unique, most);
  while (body.size() > kErrorBytes && most > 0) {
    most /= 2;
    body = write_messages_error(error, unique, most);
  }
  return body;
}

HttpReply messages_error_reply(const ApiError& error, std::string_view unique) {
  HttpReply reply;
  reply.status = error.status;
  reply.fields = error.fields;
  reply.body = messages_error_body(error, unique);
  return reply;
}

std::string input_tokens_body(uint64_t tokens) {
  Json json;
  json.object().key("input_tokens").number(tokens).end_object();
  return json.line();
}

}  // namespace hearth
