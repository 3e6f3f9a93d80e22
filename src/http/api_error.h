// ApiError: an error in the form of OpenAI's API, {"error": {"message", "type", "param", "code"}},
// or of ollama's, {"error": "message"} (HttpDialect). It takes less than 1 KiB: a longer message is
// cut and ends in "...".
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
  HttpFields fields = {};                 // further header fields, such as Retry-After
};

// Returns the default of an error's `type` by status: authentication_error for 401 and 403,
// not_found_error for 404, rate_limit_error for 429, server_error from 500 on, else
// invalid_request_error.
std::string_view error_type(unsigned status);
std::string error_body(const ApiError& error, HttpDialect dialect = HttpDialect::kEvents);
// Returns a reply whose JSON ends in a newline.
HttpReply error_reply(const ApiError& error, HttpDialect dialect = HttpDialect::kEvents);
// Returns the error as an event of a stream, as "data: {...}" and an empty line; in the dialect
// kLines as the JSON and a newline.
std::string streamed_error(const ApiError& error, HttpDialect dialect);

// The error for memory that has run out, as a reply and as an event of a stream. It is made in
// advance, while there is memory.
struct ShortageWords {
  explicit ShortageWords(HttpDialect dialect);

  const ApiError error;
  const HttpReply reply;
  const std::string event;  // as streamed_error() returns it
};
// Returns the ShortageWords of a dialect, which are made once. A server calls this at its start,
// while there is memory.
const ShortageWords& shortage_words(HttpDialect dialect = HttpDialect::kEvents);

}  // namespace hearth
