#include "server/exception_error.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/printable.h"
#include "server/request_error.h"

namespace hearth {

ApiError api_error_of(const std::exception& error) {
  if (const auto* request = dynamic_cast<const RequestError*>(&error)) return request->api();
  if (is_shortage(error)) return shortage_words().error;
  const auto* known = dynamic_cast<const Error*>(&error);
  if (known == nullptr) return {500, "", "internal_error", error.what()};
  switch (known->code()) {
    case ErrorCode::kRequest:
    case ErrorCode::kUsage: {
      ApiError api{400, "", "invalid_value", known->what()};
      if (!known->field().empty()) api.param = known->field();
      return api;
    }
    case ErrorCode::kUnsupported:
      return {400, "", "unsupported", known->what()};
    case ErrorCode::kBusy:
      return {429, "", "queue_full", known->what(), {}, {{"Retry-After", "1"}}};
    case ErrorCode::kResource:
      return {503, "", "no_resources", known->what()};
    case ErrorCode::kFile:
      return {500, "", "internal_error", known->what()};
  }
  return {500, "", "internal_error", known->what()};
}

ApiError no_such_model(const std::string& asked, const std::string& own) {
  return {404, "", "model_not_found",
          fmt::format("this server has no model '{}'; it has '{}'", printable(asked), own),
          "model"};
}

}  // namespace hearth
