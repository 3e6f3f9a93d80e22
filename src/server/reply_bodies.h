// The bodies of the server's replies, whole and as events of a stream, in the forms of OpenAI's
// API 2.3.0 (src/server/openapi.json describes each). JSON whatever the texts hold: bytes that are
// not UTF-8 become U+FFFD.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "http/api_error.h"
#include "server/body_source.h"
#include "server/choice_text.h"

namespace hearth {

// The members at the head of every body and chunk of one completion.
struct ReplyHead {
  bool chat = true;
  std::string id;       // chatcmpl-... or cmpl-...: reply_id()
  int64_t created = 0;  // seconds since 1970
  std::string model;
  std::string fingerprint;
  bool logprobs = false;       // they were asked for
  bool include_usage = false;  // a stream's last chunk has it, and all others a null
  bool timings = false;        // the whole body has them, or a stream's last chunk
};

// Returns "chatcmpl-" or "cmpl-" and `unique`, the id of the HTTP request.
std::string reply_id(bool chat, std::string_view unique);

// Sums over all choices; a prompt counts once for all choices of it.
struct Usage {
  uint64_t prompt_tokens = 0;
  uint64_t completion_tokens = 0;
  uint64_t cached_tokens = 0;
  uint64_t reasoning_tokens = 0;  // of the completion's
  uint64_t texts = 0;             // with tokens
  // Seconds from the request to the end, from the first step to the first token, and from there to
  // the last token.
  double total_seconds = 0, prompt_seconds = 0, generation_seconds = 0;
};

// Tokens a second from the first token of a text to its last one; 0 where there is no such time.
double generation_rate(const Usage& usage);

// How far the prompts of a completion are.
struct PromptProgress {
  uint64_t total = 0;   // tokens of all prompts
  uint64_t cached = 0;  // of these, that were computed before
  uint64_t read = 0;    // so far, the cached ones among them
  double seconds = 0;   // since the first was begun
};

// "stop" or "length"; nothing where the choice failed or was cancelled, which is no answer.
std::optional<std::string_view> finish_reason(Finish finish);
// Returns the reason for a choice that has calls: "tool_calls" in place of "stop".
std::optional<std::string_view> finish_reason(const ChoicePart& part);

// The body of a completion. Every choice's part is whole, with a finish that has a reason.
class CompletionBody : public BodySource {
 public:
  CompletionBody(ReplyHead head, std::vector<ChoicePart> choices, const Usage& usage);
  bool next(std::string* body) override;

 private:
  bool step();

  const ReplyHead head_;
  std::vector<ChoicePart> choices_;  // each until it was written
  const Usage usage_;
  Json json_;
  size_t choice_ = 0, list_ = 0, entry_ = 0;  // that comes next
  bool begun_ = false;                        // the choice was
};

// The events of a stream, "data: {...}\n\n" each. first_event() comes first for every choice, with
// the role in a chat and empty otherwise; reasoning, text and each piece of a call in events of
// their own, in this order, the name of a call before its arguments; a finish in an event of its
// own, or in none where it has no reason: then streamed_error() does.
std::string first_event(const ReplyHead& head, uint32_t choice);
std::string part_events(const ReplyHead& head, const ChoicePart& part);
// Writes `prompt_progress`, in llama.cpp's names, into the object that `json` is in.
void write_progress(Json& json, const PromptProgress& progress);
// Returns an event without choices that has the progress.
std::string progress_event(const ReplyHead& head, const PromptProgress& progress);
// Returns the last event, with usage and timings as far as they were asked for.
std::string usage_event(const ReplyHead& head, const Usage& usage);
inline constexpr std::string_view kDoneEvent = "data: [DONE]\n\n";

// A token with its log-probability and the likeliest others, as chats have them.
void write_chat_entry(Json& json, const TokenEntry& entry);

struct ModelInfo {
  std::string id;
  int64_t created = 0;
  uint32_t context = 0;
  std::string_view status = "loaded";  // "loading", "sleeping", "failed"
  std::string failure = {};            // why it failed
};
std::string model_body(const ModelInfo& model);
std::string model_list_body(std::span<const ModelInfo> models);

// The body of the reply of /tokenize.
class TokensBody : public BodySource {
 public:
  explicit TokensBody(std::vector<int32_t> tokens);
  bool next(std::string* body) override;

 private:
  const std::vector<int32_t> tokens_;
  size_t at_ = 0;
  Json json_;
};

// The body of a single member, whose text is whole.
class WholeTextBody : public TextBody {
 public:
  WholeTextBody(std::string_view key, std::string text) : TextBody(key), text_(std::move(text)) {}

 private:
  bool more(std::string* bytes) override;

  const std::string text_;
  size_t at_ = 0;
};

// `status`: "ok", "loading", "draining".
std::string health_body(std::string_view status);

}  // namespace hearth
