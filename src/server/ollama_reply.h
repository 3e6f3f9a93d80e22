// OllamaReply writes a reply in the forms of ollama's API (src/server/openapi.json describes each),
// as one body or as lines. Texts of any bytes give valid JSON.
//
// A stream's line has a part of the reasoning or the text, or complete calls; the last one has
// `done`, the reason of the end, and the usage. The joined parts equal the whole body's.
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
  kToLoad,   // only to load the model
  kToLetGo,  // only to give the model back
};

struct OllamaReplyHead {
  OllamaRoute route = OllamaRoute::kChat;
  std::string model = {};  // the name that the client used
  OllamaAsked asked = OllamaAsked::kText;
  bool logprobs = false;  // the client asked for log-probabilities
  bool calls = false;     // the client gave tools
};

class OllamaReply final : public ReplyForm {
 public:
  explicit OllamaReply(OllamaReplyHead head) : head_(std::move(head)) {}

  std::string begin(const Usage&, uint32_t) override { return ""; }
  std::string part(const ChoicePart& part) override;
  std::string end(const Usage& usage) override;
  std::string error(const ApiError& error) override;
  // Calls are kept until they are complete, as ollama's clients get no parts of them.
  bool keeps_stream() const override { return head_.calls; }
  std::unique_ptr<BodySource> whole(std::vector<ChoicePart> choices, const Usage& usage) override;

 private:
  std::string call_line();

  const OllamaReplyHead head_;
  std::vector<CallPart> calls_;  // not yet sent; the last may be incomplete
  ChoicePart finish_;            // the choice's end
};

uint64_t ollama_nanoseconds(double seconds);
// Returns seconds since 1970 in RFC 3339's form, in UTC: "2026-11-26T10:15:30.123456Z".
std::string ollama_time(double unix_seconds);

}  // namespace hearth
