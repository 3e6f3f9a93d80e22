// RequestError: the error of a request's body. It holds what the client gets: status, code, and the
// field ("messages[2].content").
#pragma once

#include <string_view>
#include <utility>

#include "base/error.h"
#include "http/api_error.h"

namespace hearth {

// The codes of errors in a body, whose status is 400.
inline constexpr std::string_view kInvalidJson = "invalid_json";
inline constexpr std::string_view kInvalidType = "invalid_type";
inline constexpr std::string_view kInvalidValue = "invalid_value";
inline constexpr std::string_view kMissingField = "missing_required_parameter";
inline constexpr std::string_view kUnsupportedField = "unsupported_parameter";

class RequestError : public Error {
 public:
  explicit RequestError(ApiError error)
      : Error(ErrorCode::kRequest, error.message), error_(std::move(error)) {}
  // The error of one field: `param` "n", `predicate` "is 17; it must lie between 1 and 16".
  RequestError(std::string_view code, std::string_view param, std::string_view predicate)
      : Error(ErrorCode::kRequest, param, predicate),
        error_{400, "invalid_request_error", std::string(code), what(), std::string(param), {}} {}

  const ApiError& api() const { return error_; }

 private:
  ApiError error_;
};

}  // namespace hearth
