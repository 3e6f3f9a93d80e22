// OllamaReply: a reply in the forms of ollama's API (src/server/openapi.json describes each), whole
// and as lines. JSON whatever the texts hold.
//
// A line of a stream has a piece of the reasoning, of the text, or calls that are whole; the last
// one has `done`, why it ended, and what it took. Pieces joined are what the whole body has.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "http/api_error.h"
#include "server/ollama_request.h"
#include "server/reply_form.h"

namespace hearth {

// The kinds of request to a model.
enum class OllamaAsked : uint8_t {
  kText,
  kToLoad,   // nothing but that it is there
  kToLetGo,  // that its memory need not be kept
};

struct OllamaReplyHead {
  OllamaRoute route = OllamaRoute::kChat;
  std::string model = {};  // as the client called it
  OllamaAsked asked = OllamaAsked::kText;
  bool logprobs = false;  // they were asked for
  bool calls = false;     // tools may be called
};

class OllamaReply final : public ReplyForm {
 public:
  explicit OllamaReply(OllamaReplyHead head) : head_(std::move(head)) {}

  std::string begin(const Usage&, uint32_t) override { return ""; }
  std::string part(const ChoicePart& part) override;
  std::string end(const Usage& usage) override;
  std::string error(const ApiError& error) override;
  // Calls are kept until they are whole.
  bool keeps_stream() const override { return head_.calls; }
  std::unique_ptr<BodySource> whole(std::vector<ChoicePart> choices, const Usage& usage) override;

 private:
  std::string call_line();

  const OllamaReplyHead head_;
  std::vector<CallPart> calls_;  // that are not yet given; the last one may go on
  ChoicePart finish_;            // how the choice ended
};

uint64_t ollama_nanoseconds(double seconds);
// Seconds since 1970 as RFC 3339 has them, in UTC: "2026-11-26T10:15:30.123456Z".
std::string ollama_time(double unix_seconds);

}  // namespace hearth
