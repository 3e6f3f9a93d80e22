#include "bench/figure_text.h"

#include <fmt/format.h>

namespace hearth {

std::string giga_text(double value) {
  double g = value * 1e-9;
  return fmt::format("{:.{}f}", g, g < 9.995 ? 2 : g < 99.95 ? 1 : 0);
}

std::string percent_text(double part) { return fmt::format("{:.1f} %", 100 * part); }

std::string rate_text(double rate) {
  return fmt::format("{:.{}f}", rate, rate < 9.995 ? 2 : rate < 999.95 ? 1 : 0);
}

std::string duration_figure(double seconds) {
  return seconds < 1 ? fmt::format("{:.1f} ms", 1e3 * seconds) : fmt::format("{:.2f} s", seconds);
}

std::string count_text(uint64_t count) {
  auto n = static_cast<double>(count);
  return n < 1e9 ? fmt::format("{:.2f} M", n * 1e-6) : fmt::format("{:.2f} B", n * 1e-9);
}

std::string cpu_text(const std::string& name) { return name.empty() ? "unknown processor" : name; }

void add_spread(Json& json, const char* key, const Spread& spread) {
  json.key(key).object().key("median").real(spread.median);
  json.key("min").real(spread.least).key("max").real(spread.most);
  json.key("relative").real(spread.relative()).end_object();
}

void add_percentiles(Json& json, const char* key, const Percentiles& percentiles) {
  json.key(key).object().key("p50").real(percentiles.p50).key("p90").real(percentiles.p90);
  json.key("p99").real(percentiles.p99).key("mean").real(percentiles.mean).end_object();
}

}  // namespace hearth
