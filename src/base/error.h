// Errors that a user, a file or a device can cause are thrown as hearth::Error and caught at the
// verb or the request. A failure that only a bug in this program can cause is a HEARTH_CHECK
// (base/check.h). Kernels and worker threads throw nothing: their inputs were checked before.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace hearth {

enum class ErrorCode {
  kUsage,        // invalid options or arguments: exit status 2
  kFile,         // a file is missing, unreadable, corrupt or cannot be written
  kUnsupported,  // well-formed, but not supported by this program
  kResource,     // not enough memory, threads or permissions
  kRequest,      // a request that cannot be served, such as a prompt longer than the context
  kBusy,         // a request that could be served later: too many wait already
};

// One sentence that names the thing and the remedy, without a trailing newline. Where one field of
// a request or of options is at fault, the sentence begins with its name ("temperature is 200; it
// must lie between 0 and 100"), so that callers with another name for the field can replace it:
// text_naming().
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  Error(ErrorCode code, std::string_view field, std::string_view predicate)
      : std::runtime_error(fmt::format("{} {}", field, predicate)), code_(code), field_(field) {}

  ErrorCode code() const { return code_; }
  // The field at fault ("temperature"); empty where there is none.
  const std::string& field() const { return field_; }
  // Returns the sentence with `name` in place of the field's: "--temp is 200; ...".
  std::string text_naming(std::string_view name) const;
  // Returns 2 for usage and 1 for the rest.
  int exit_status() const { return code_ == ErrorCode::kUsage ? 2 : 1; }

 private:
  ErrorCode code_;
  std::string field_;
};

template <typename... Args>
[[noreturn]] void fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

// Throws an error about a field, given a predicate: fail_field(ErrorCode::kUsage, "top_p", "is 7;
// ...").
template <typename... Args>
[[noreturn]] void fail_field(ErrorCode code, std::string_view field,
                             fmt::format_string<Args...> predicate, Args&&... args) {
  throw Error(code, field, fmt::format(predicate, std::forward<Args>(args)...));
}

}  // namespace hearth
