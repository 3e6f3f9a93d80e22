#include "cli/tune_args.h"

#include <charconv>

#include "base/error.h"

namespace hearth {
namespace {

constexpr double kMinBudget = 1, kMaxBudget = 7 * 86400;

}  // namespace

double parse_budget(std::string_view text) {
  double value = 0;
  const std::from_chars_result end = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(end.ptr, static_cast<size_t>(text.data() + text.size() - end.ptr));
  const double seconds = unit == "s" ? value : unit == "m" ? 60 * value : 3600 * value;
  const bool known = unit == "s" || unit == "m" || unit == "h";
  if (end.ec != std::errc() || !known || !(seconds >= kMinBudget && seconds <= kMaxBudget)) {
    fail(ErrorCode::kUsage, "--budget '{}' is not a time such as 90s, 10m or 1.5h, up to 168h",
         text);
  }
  return seconds;
}

}  // namespace hearth
