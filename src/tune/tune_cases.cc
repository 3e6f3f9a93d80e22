#include "tune/tune_cases.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/error.h"

namespace hearth {
namespace {

constexpr uint32_t kMaxLength = 1u << 20;
// Limits on the lengths of cases, so that trials stay short.
constexpr uint32_t kMaxPrompt = 2048, kMaxDepth = 4096;

std::optional<uint32_t> length_of(std::string_view text) {
  while (!text.empty() && (text.back() == '\r' || text.back() == ' ')) text.remove_suffix(1);
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  uint32_t value = 0;
  const std::from_chars_result end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || end.ec != std::errc() || end.ptr != text.data() + text.size()) return {};
  return value <= kMaxLength ? std::optional(value) : std::nullopt;
}

uint32_t quantile(std::vector<uint32_t>& values, size_t i, size_t n) {
  std::sort(values.begin(), values.end());
  return values[(values.size() - 1) * i / n];
}

}  // namespace

EngineOptions TuneCases::engine_options() const {
  EngineOptions options;
  const uint32_t most = *std::max_element(sequences.begin(), sequences.end());
  options.sequences = most + 1;  // one more, for a prompt
  options.outputs = std::max(options.outputs, most);
  options.prefill_rows = std::max(options.prefill_rows, most);
  // Decode steps add their positions behind the first `depth`.
  options.context =
      std::max({depth + 8, *std::max_element(prompts.begin(), prompts.end()), max_threshold});
  return options;
}

PlanWorkload TuneCases::workload(const Plan& plan) const {
  PlanWorkload work;
  if (plan.phase == Phase::kDecode) {
    for (uint32_t rows : sequences) {
      if (rows <= plan.max_rows) work.steps.push_back({rows, depth});
    }
  } else {
    for (uint32_t rows : prompts) work.steps.push_back({std::min(rows, plan.max_rows), 0});
  }
  return work;
}

TuneCases cases_for(const ModelSpec& spec, TuneCases cases) {
  if (!spec.is_encoder()) return cases;
  const uint32_t most = std::min(spec.hyper.context, EngineOptions{}.prefill_rows);
  cases.sequences = {std::min(4u, most), std::min(16u, most)};
  cases.depth = 0;
  cases.max_threshold = std::min(kMaxThreshold, most);
  for (uint32_t& prompt : cases.prompts) prompt = std::min(prompt, most);
  std::ranges::sort(cases.prompts);
  cases.prompts.erase(std::unique(cases.prompts.begin(), cases.prompts.end()), cases.prompts.end());
  return cases;
}

TuneCases cases_of_trace(std::string_view csv) {
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
           "line {} of the trace is not 'prompt,output' with two numbers of tokens up to {}",
           number, kMaxLength);
    }
  }
  if (prompts.empty()) {
    fail(ErrorCode::kUsage, "the trace has no request: give a line 'prompt,output' for each");
  }
  TuneCases cases;
  cases.depth = std::clamp(quantile(prompts, 1, 2) + quantile(outputs, 1, 2) / 2, 1u, kMaxDepth);
  cases.prompts.clear();
  for (size_t i = 1; i <= 3; ++i) {
    cases.prompts.push_back(std::clamp(quantile(prompts, i, 4), 1u, kMaxPrompt));
  }
  cases.prompts.erase(std::unique(cases.prompts.begin(), cases.prompts.end()), cases.prompts.end());
  return cases;
}

}  // namespace hearth
