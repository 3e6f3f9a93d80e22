// ApiError: a refusal or failure as a client of the server sees it, with the HTTP status and the
// body of OpenAI's API: {"error":{"message","type","param","code"}}. `message` is one sentence that
// names the thing and the remedy.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hearth {

struct ApiError {
  unsigned status = 500;
  // invalid_request_error, authentication_error, not_found_error, rate_limit_error, server_error
  std::string type;
  std::string code;
  std::string message;
  std::optional<std::string> param;                         // the field at fault
  std::vector<std::pair<std::string, std::string>> fields;  // of the header, as Retry-After
};

// JSON without a newline, always below 1 KiB: a longer text ends in "...".
std::string error_body(const ApiError& error);

}  // namespace hearth
