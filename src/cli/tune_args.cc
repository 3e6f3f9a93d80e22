#include "cli/tune_args.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/error.h"

namespace hearth {
namespace {

constexpr uint32_t kMostLength = 1u << 20;
constexpr double kLeastBudget = 1, kMostBudget = 7 * 86400;

std::optional<uint32_t> length_of(std::string_view text) {
  while (!text.empty() && (text.back() == '\r' || text.back() == ' ')) text.remove_suffix(1);
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  uint32_t value = 0;
  const std::from_chars_result end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || end.ec != std::errc() || end.ptr != text.data() + text.size()) return {};
  return value <= kMostLength ? std::optional(value) : std::nullopt;
}

uint32_t quantile(std::vector<uint32_t>& values, size_t i, size_t n) {
  std::sort(values.begin(), values.end());
  return values[(values.size() - 1) * i / n];
}

}  // namespace

double parse_budget(std::string_view text) {
  double value = 0;
  const std::from_chars_result end = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(end.ptr, static_cast<size_t>(text.data() + text.size() - end.ptr));
  const double seconds = unit == "s" ? value : unit == "m" ? 60 * value : 3600 * value;
  const bool known = unit == "s" || unit == "m" || unit == "h";
  if (end.ec != std::errc() || !known || !(seconds >= kLeastBudget && seconds <= kMostBudget)) {
    fail(ErrorCode::kUsage, "--budget '{}' is no time such as 90s, 10m or 1.5h, up to 168h", text);
  }
  return seconds;
}

TuneCases cases_of_trace(std::string_view csv, uint32_t most_prompt, uint32_t most_depth) {
  std::vector<uint32_t> prompts, outputs;
  uint32_t number = 0;
  for (size_t at = 0, end = 0; at < csv.size(); at = end + 1) {
    end = std::min(csv.find('\n', at), csv.size());
    const std::string_view line = csv.substr(at, end - at);
    ++number;
    if (line.empty() || line == "\r") continue;
    const size_t comma = std::min(line.find(','), line.size());
    const std::optional<uint32_t> prompt = length_of(line.substr(0, comma));
    const std::optional<uint32_t> output =
        comma < line.size() ? length_of(line.substr(comma + 1)) : std::nullopt;
    if (prompt && output && *prompt > 0) {
      prompts.push_back(*prompt);
      outputs.push_back(*output);
    } else if (number > 1) {
      fail(ErrorCode::kUsage,
           "line {} of the trace is no 'prompt,output', two numbers of tokens up to {}", number,
           kMostLength);
    }
  }
  if (prompts.empty()) {
    fail(ErrorCode::kUsage, "the trace has no request: give a line 'prompt,output' for each");
  }
  TuneCases cases;
  cases.depth = std::clamp(quantile(prompts, 1, 2) + quantile(outputs, 1, 2) / 2, 1u, most_depth);
  cases.prompts.clear();
  for (size_t i = 1; i <= 3; ++i) {
    cases.prompts.push_back(std::clamp(quantile(prompts, i, 4), 1u, most_prompt));
  }
  cases.prompts.erase(std::unique(cases.prompts.begin(), cases.prompts.end()), cases.prompts.end());
  return cases;
}

}  // namespace hearth
