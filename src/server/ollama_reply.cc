#include "server/ollama_reply.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <optional>
#include <span>

#include "base/check.h"
#include "server/json_values.h"

namespace hearth {
namespace {

std::string time_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return ollama_time(std::chrono::duration<double>(now).count());
}

void open_line(Json& json, const OllamaReplyHead& head) {
  json.object().key("model").text(head.model).key("created_at").text(time_now());
}

void write_calls(Json& json, std::span<const CallPart> calls) {
  json.key("tool_calls").array();
  for (const CallPart& call : calls) {
    json.object().key("id").text(call.id).key("function").object();
    json.key("index").number(uint64_t{call.index}).key("name").text(call.name).key("arguments");
    write_arguments(json, call.arguments);
    json.end_object().end_object();
  }
  json.end_array();
}

// Writes a chat's `message` or, for /api/generate, a member for the text and one for the reasoning.
void write_said(Json& json, const OllamaReplyHead& head, const ChoicePart& part) {
  const bool chat = head.route == OllamaRoute::kChat;
  if (chat) json.key("message").object().key("role").text("assistant");
  json.key(chat ? "content" : "response").text(part.text);
  if (!part.reasoning.empty()) json.key("thinking").text(part.reasoning);
  if (!part.calls.empty()) write_calls(json, part.calls);
  if (chat) json.end_object();
}

std::string said_line(const OllamaReplyHead& head, const ChoicePart& part) {
  Json json;
  open_line(json, head);
  write_said(json, head, part);
  if (!part.entries.empty()) {
    json.key("logprobs").array();
    for (const TokenEntry& entry : part.entries) write_chat_entry(json, entry);
    json.end_array();
  }
  json.key("done").boolean(false).end_object();
  return json.line();
}

std::string_view done_reason(const OllamaReplyHead& head, const ChoicePart& part) {
  if (head.asked == OllamaAsked::kToLoad) return "load";
  if (head.asked == OllamaAsked::kToLetGo) return "unload";
  const std::optional<std::string_view> reason =
      part.finish ? finish_reason(*part.finish) : std::nullopt;
  HEARTH_CHECK(reason.has_value(), "what failed is told as an error");
  return *reason;
}

// Writes why the reply ended and its usage, and ends the object.
void write_done(Json& json, const OllamaReplyHead& head, const ChoicePart& part,
                const Usage& usage) {
  json.key("done").boolean(true).key("done_reason").text(done_reason(head, part));
  if (head.asked == OllamaAsked::kText) {
    json.key("total_duration").number(ollama_nanoseconds(usage.total_seconds));
    json.key("load_duration").number(uint64_t{0});
    json.key("prompt_eval_count").number(usage.prompt_tokens);
    json.key("prompt_eval_duration").number(ollama_nanoseconds(usage.prompt_seconds));
    json.key("eval_count").number(usage.completion_tokens);
    json.key("eval_duration").number(ollama_nanoseconds(usage.generation_seconds));
  }
  json.end_object();
}

// OllamaReplyBody: writes the text first, then the log-probabilities entry by entry.
class OllamaReplyBody final : public BodySource {
 public:
  OllamaReplyBody(OllamaReplyHead head, ChoicePart choice, const Usage& usage)
      : head_(std::move(head)), choice_(std::move(choice)), usage_(usage) {
    open_line(json_, head_);
    write_said(json_, head_, choice_);
    choice_.text = choice_.reasoning = {};
    choice_.calls = {};
    if (head_.logprobs) {
      json_.key("logprobs").array();
    } else {
      choice_.entries.clear();
    }
  }

  bool next(std::string* body) override {
    for (; entry_ < choice_.entries.size() && json_.size() < kPieceBytes; ++entry_) {
      write_chat_entry(json_, choice_.entries[entry_]);
    }
    const bool any = entry_ < choice_.entries.size();
    if (!any) {
      if (head_.logprobs) json_.end_array();
      write_done(json_, head_, choice_, usage_);
    }
    *body += json_.take();
    if (!any) *body += '\n';
    return any;
  }

 private:
  const OllamaReplyHead head_;
  ChoicePart choice_;
  const Usage usage_;
  Json json_;
  size_t entry_ = 0;
};

}  // namespace

std::string OllamaReply::call_line() {
  if (calls_.empty()) return "";
  ChoicePart whole;
  whole.calls = std::exchange(calls_, {});
  return said_line(head_, whole);
}

std::string OllamaReply::part(const ChoicePart& part) {
  std::string lines;
  if (!part.reasoning.empty()) lines += said_line(head_, {.reasoning = part.reasoning});
  if (!part.text.empty() || !part.entries.empty()) {
    lines += said_line(head_, {.text = part.text, .entries = part.entries});
  }
  for (const CallPart& call : part.calls) {
    if (!call.name.empty()) {
      lines += call_line();
      calls_.push_back(call);
    } else if (!calls_.empty()) {
      calls_.back().arguments += call.arguments;
    }
  }
  if (part.finish) {
    lines += call_line();
    finish_.finish = part.finish;
  }
  return lines;
}

std::string OllamaReply::end(const Usage& usage) {
  Json json;
  open_line(json, head_);
  write_said(json, head_, {});
  write_done(json, head_, finish_, usage);
  return json.line();
}

std::string OllamaReply::error(const ApiError& error) {
  return streamed_error(error, HttpDialect::kLines);
}

std::unique_ptr<BodySource> OllamaReply::whole(std::vector<ChoicePart> choices,
                                               const Usage& usage) {
  HEARTH_CHECK(choices.size() == (head_.asked == OllamaAsked::kText ? 1 : 0),
               "a reply is one choice");
  ChoicePart choice;
  if (!choices.empty()) choice = std::move(choices.front());
  return std::make_unique<OllamaReplyBody>(head_, std::move(choice), usage);
}

uint64_t ollama_nanoseconds(double seconds) {
  return static_cast<uint64_t>(std::llround(std::max(seconds, 0.0) * 1e9));
}

std::string ollama_time(double unix_seconds) {
  const double whole = std::floor(unix_seconds);
  const auto second = static_cast<std::time_t>(whole);
  const auto micros = static_cast<unsigned>((unix_seconds - whole) * 1e6);
  std::tm parts{};
  gmtime_r(&second, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     micros);
}

}  // namespace hearth
