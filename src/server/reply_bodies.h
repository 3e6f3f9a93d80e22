// The bodies of the server's replies in the forms of OpenAI's API 2.3.0 (src/server/openapi.json
// describes each), whole or as the events of a stream. Texts of any bytes give valid JSON: bytes
// that are not UTF-8 become U+FFFD.
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

// The members that every body and chunk of one completion begins with.
struct ReplyHead {
  bool chat = true;
  std::string id;       // as of reply_id(): chatcmpl-... or cmpl-...
  int64_t created = 0;  // seconds since 1970
  std::string model;
  std::string fingerprint;
  bool logprobs = false;       // the client asked for log-probabilities
  bool include_usage = false;  // a stream ends with a usage chunk; others have null
  bool timings = false;        // in the whole body or the stream's last chunk
};

// Returns a reply's id: "chatcmpl-" or "cmpl-", then `unique`, the HTTP request's id.
std::string reply_id(bool chat, std::string_view unique);

// The usage of a request: sums over all choices, where a prompt counts once for all of its choices.
struct Usage {
  uint64_t prompt_tokens = 0;
  uint64_t completion_tokens = 0;
  uint64_t cached_tokens = 0;
  uint64_t reasoning_tokens = 0;  // how many of completion_tokens are reasoning
  uint64_t texts = 0;             // choices that have tokens
  // Seconds from the request to its end, from the first step to the first token, and from that to
  // the last token.
  double total_seconds = 0, prompt_seconds = 0, generation_seconds = 0;
};

// Returns the tokens a second that a text had from its first to its last token; 0 where no time
// passed.
double generation_rate(const Usage& usage);

// How much of a completion's prompts is computed.
struct PromptProgress {
  uint64_t total = 0;   // tokens of all prompts
  uint64_t cached = 0;  // those found in the cache
  uint64_t read = 0;    // those computed so far, including cached ones
  double seconds = 0;   // since the first prompt was begun
};

// Returns the API's finish_reason, "stop" or "length"; nothing where the choice failed or was
// cancelled.
std::optional<std::string_view> finish_reason(Finish finish);
// Does the same for a choice that may have tool calls: "tool_calls" instead of "stop".
std::optional<std::string_view> finish_reason(const ChoicePart& part);

// CompletionBody: writes the body of a completion that is not streamed. Each choice must be
// complete, with a finish that has a reason.
class CompletionBody : public BodySource {
 public:
  CompletionBody(ReplyHead head, std::vector<ChoicePart> choices, const Usage& usage);
  bool next(std::string* body) override;

 private:
  bool step();

  const ReplyHead head_;
  std::vector<ChoicePart> choices_;  // each is emptied when it is written
  const Usage usage_;
  Json json_;
  size_t choice_ = 0, list_ = 0, entry_ = 0;  // the next to write
  bool begun_ = false;                        // the choice's first members are written
};

// The events of a stream, each "data: {...}" and an empty line.
//
// first_event() begins each choice, with the role in a chat, else empty. part_events() has
// reasoning, text and each part of a call in events of their own, in this order, and a call's name
// before its arguments. A finish has an event of its own; a finish without a reason has none, and
// streamed_error() follows.
std::string first_event(const ReplyHead& head, uint32_t choice);
std::string part_events(const ReplyHead& head, const ChoicePart& part);
// Writes `prompt_progress` with llama.cpp's names into the object under way in `json`.
void write_progress(Json& json, const PromptProgress& progress);
// Returns an event without choices that shows the progress.
std::string progress_event(const ReplyHead& head, const PromptProgress& progress);
// Returns the last event, with usage and timings if the client asked for them.
std::string usage_event(const ReplyHead& head, const Usage& usage);
inline constexpr std::string_view kDoneEvent = "data: [DONE]\n\n";

// Writes a token with its log-probability and the likeliest alternatives, in a chat's form.
void write_chat_entry(Json& json, const TokenEntry& entry);

struct ModelInfo {
  std::string id;
  int64_t created = 0;
  uint32_t context = 0;
  std::string_view status = "loaded";  // "loading", "sleeping", "failed"
  std::string failure = {};            // the error, if loading failed
};
std::string model_body(const ModelInfo& model);
std::string model_list_body(std::span<const ModelInfo> models);

// TokensBody: the body of the reply of /tokenize.
class TokensBody : public BodySource {
 public:
  explicit TokensBody(std::vector<int32_t> tokens);
  bool next(std::string* body) override;

 private:
  const std::vector<int32_t> tokens_;
  size_t at_ = 0;
  Json json_;
};

// WholeTextBody: a body with one member, whose text is there as a whole.
class WholeTextBody : public TextBody {
 public:
  WholeTextBody(std::string_view key, std::string text) : TextBody(key), text_(std::move(text)) {}

 private:
  bool more(std::string* bytes) override;

  const std::string text_;
  size_t at_ = 0;
};

// Returns the body of GET /health. `status`: "ok", "loading" or "draining".
std::string health_body(std::string_view status);

}  // namespace hearth
