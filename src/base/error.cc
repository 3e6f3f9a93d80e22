#include "base/error.h"

#include "base/check.h"

namespace hearth {

std::string Error::text_naming(std::string_view name) const {
  return std::string(name) + std::string(what()).substr(field_.size());
}

const char* error_code_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUsage:
      return "usage";
    case ErrorCode::kFile:
      return "file";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kResource:
      return "resource";
    case ErrorCode::kRequest:
      return "request";
  }
  HEARTH_CHECK(false, "no such error code");
}

}  // namespace hearth
