// MessagesReply writes a reply in the forms of Anthropic's Messages API (src/server/openapi.json
// describes each), as one body or as events. Texts of any bytes give valid JSON.
//
// The events of a stream: message_start and ping, which also reports progress; for each content
// block content_block_start, deltas of one kind and content_block_stop; then message_delta and
// message_stop. A block is reasoning, text or a call. The joined deltas equal the whole body's
// content, except that text after calls may stand in another place.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "http/api_error.h"
#include "http/request.h"
#include "server/reply_form.h"

namespace hearth {

// The code of the error that makes clients send the whole conversation again, without `thread`.
inline constexpr std::string_view kThreadCode = "thread_unsupported_request";

class MessagesReply final : public ReplyForm {
 public:
  // `unique`: the HTTP request's id.
  MessagesReply(std::string unique, std::string model)
      : unique_(std::move(unique)), model_(std::move(model)) {}

  std::string begin(const Usage& usage, uint32_t choices) override;
  std::string part(const ChoicePart& part) override;
  std::string progress(const PromptProgress& progress) override;
  std::string end(const Usage& usage) override;
  std::string error(const ApiError& error) override;
  std::unique_ptr<BodySource> whole(std::vector<ChoicePart> choices, const Usage& usage) override;

 private:
  enum class Block : uint8_t { kNone, kThinking, kText, kCall };

  std::string open(Block kind, const CallPart& call);
  std::string add(Block kind, std::string_view delta);
  std::string delta_event(std::string_view type, std::string_view member,
                          std::string_view text) const;
  std::string close();
  std::string add_call(const CallPart& call);

  const std::string unique_, model_;
  Block block_ = Block::kNone;  // the open block
  uint64_t index_ = 0;          // the index of the open or next block
  uint32_t call_ = 0;           // the open call's number
  ChoicePart finish_;           // how the choice ended
};

// Returns an error's body: {"type": "error", "error": {"type", "message"}, "request_id"} and a
// newline, less than 1 KiB as error_body() keeps it. `unique`: the HTTP request's id.
std::string messages_error_body(const ApiError& error, std::string_view unique);
HttpReply messages_error_reply(const ApiError& error, std::string_view unique);

// Returns the reply of /v1/messages/count_tokens.
std::string input_tokens_body(uint64_t tokens);

}  // namespace hearth
