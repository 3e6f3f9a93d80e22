#include "bench/percentiles.h"

#include <algorithm>

namespace hearth {
namespace {

double at_percentile(const std::vector<double>& sorted, double part) {
  double place = part * static_cast<double>(sorted.size() - 1);
  auto below = static_cast<size_t>(place);
  size_t above = std::min(below + 1, sorted.size() - 1);
  double share = place - static_cast<double>(below);
  return sorted[below] + share * (sorted[above] - sorted[below]);
}

}  // namespace

Percentiles percentiles_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  double sum = 0;
  for (double value : values) sum += value;
  return {at_percentile(values, 0.5), at_percentile(values, 0.9), at_percentile(values, 0.99),
          sum / static_cast<double>(values.size())};
}

std::vector<double> all_percentiles_of(std::vector<double> values) {
  std::vector<double> percentiles;
  if (values.empty()) return percentiles;
  std::sort(values.begin(), values.end());
  for (int percent = 0; percent <= 100; ++percent) {
    percentiles.push_back(at_percentile(values, percent / 100.0));
  }
  return percentiles;
}

}  // namespace hearth
