// The errors a user, a file or a device can cause: thrown as hearth::Error, caught at the verb or
// the request. A failure that only our own bug can cause is a HEARTH_CHECK (base/check.h). Kernels
// and worker threads throw nothing: their inputs were checked before.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace hearth {

enum class ErrorCode {
  kUsage,        // options or arguments that cannot be: exit status 2
  kFile,         // a file is missing, unreadable, corrupt or cannot be written
  kUnsupported,  // well-formed, but not something this program can do
  kResource,     // not enough memory, threads or permissions
  kRequest,      // a request that cannot be served, such as a prompt longer than the context
};

// One sentence that names the thing and the remedy, without a trailing newline.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const { return code_; }
  // Returns 2 for usage and 1 for the rest.
  int exit_status() const { return code_ == ErrorCode::kUsage ? 2 : 1; }

 private:
  ErrorCode code_;
};

// Returns a stable name for machine-readable output: "file", "usage".
const char* error_code_name(ErrorCode code);

template <typename... Args>
[[noreturn]] void fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace hearth
