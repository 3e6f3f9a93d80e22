// TextApi: an API in which text can be asked for. One object serves one request: it reads the body,
// and makes what writes the reply.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "http/api_error.h"
#include "server/completion_request.h"
#include "server/reply_form.h"

namespace hearth {

// The members of a reply that are known before it begins.
struct ReplyStart {
  std::string unique;   // the id of the HTTP request
  int64_t created = 0;  // seconds since 1970
  std::string model, fingerprint;
};

class TextApi {
 public:
  virtual ~TextApi() = default;

  // Reads the body, once, before all else but the errors. Throws RequestError, in the names that
  // the body has.
  virtual CompletionCall read(std::string_view body, const SamplingParams& defaults,
                              const RequestLimits& limits, uint32_t vocabulary) = 0;
  virtual std::unique_ptr<ReplyForm> reply(ReplyStart start, const CompletionCall& call) = 0;

  // An error in what was read, which names fields of a chat, in the names that the body has.
  virtual ApiError named(ApiError error) const { return error; }
  // Whether a request that asks for the model `asked` means the one that is called `own`.
  virtual bool names(std::string_view asked, std::string_view own) const { return asked == own; }
  // Returns the fields of the body that were left out: "tools[3]: web_search; ..."; empty: none.
  virtual std::string ignored() const { return {}; }
};

// OpenAI's: chat completions, and completions of prompts.
std::unique_ptr<TextApi> chat_api();
std::unique_ptr<TextApi> prompt_api();

}  // namespace hearth
