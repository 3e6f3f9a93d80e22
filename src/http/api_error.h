// An error as OpenAI's API has them: {"error": {"message", "type", "param", "code"}}, or as
// ollama's has: {"error": "message"} (HttpDialect); under 1 KiB whatever the message holds: what is
// too long is cut, with "..." in its place.
#pragma once

#include <optional>
#include <string>

#include "http/request.h"

namespace hearth {

inline constexpr size_t kErrorBytes = 1023;

struct ApiError {
  unsigned status = 500;
  std::string type;  // "invalid_request_error", ...; empty: by the status, as error_type() has it
  std::string code;
  std::string message;
  std::optional<std::string> param = {};  // the field at fault
  HttpFields fields = {};                 // of the reply's header: Retry-After
};

// authentication_error for 401 and 403, not_found_error for 404, rate_limit_error for 429,
// server_error from 500 on, else invalid_request_error.
std::string_view error_type(unsigned status);
std::string error_body(const ApiError& error, HttpDialect dialect = HttpDialect::kEvents);
// Makes a reply whose JSON ends in a newline.
HttpReply error_reply(const ApiError& error, HttpDialect dialect = HttpDialect::kEvents);
// Makes an event of a stream: "data: {...}\n\n", or the JSON and a newline.
std::string streamed_error(const ApiError& error, HttpDialect dialect);

// The error that is told where memory has run out, as a reply and as an event of a stream. It is
// made before that happens.
struct ShortageWords {
  explicit ShortageWords(HttpDialect dialect);

  const ApiError error;
  const HttpReply reply;
  const std::string event;  // as streamed_error() has it
};
// Returns the words that all share. Whoever serves calls it once while there is memory.
const ShortageWords& shortage_words(HttpDialect dialect = HttpDialect::kEvents);

}  // namespace hearth
