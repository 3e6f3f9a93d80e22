// TextApi: one API for generating text. An object serves one request: it reads the body, and makes
// the ReplyForm that writes the reply.
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
  std::string unique;   // the HTTP request's id
  int64_t created = 0;  // seconds since 1970
  std::string model, fingerprint;
};

class TextApi {
 public:
  virtual ~TextApi() = default;

  // Reads the body. Called once, before reply(), names() and ignored(). Throws RequestError with
  // the body's names of fields.
  virtual CompletionCall read(std::string_view body, const SamplingParams& defaults,
                              const RequestLimits& limits, uint32_t vocabulary) = 0;
  virtual std::unique_ptr<ReplyForm> reply(ReplyStart start, const CompletionCall& call) = 0;

  // Translates an error that names fields of a chat into the names of the client's body.
  virtual ApiError named(ApiError error) const { return error; }
  // Returns whether a request for the model `asked` means this server's model `own`.
  virtual bool names(std::string_view asked, std::string_view own) const { return asked == own; }
  // Returns the body's members that were left out ("tools[3]: web_search; ..."); empty: none.
  virtual std::string ignored() const { return {}; }
};

// Return OpenAI's APIs: chat completions, and completions of prompts.
std::unique_ptr<TextApi> chat_api();
std::unique_ptr<TextApi> prompt_api();

}  // namespace hearth
