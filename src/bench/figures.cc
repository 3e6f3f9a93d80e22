#include "bench/figures.h"

#include "base/check.h"

namespace hearth {
namespace {

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

// Returns the seconds that the operations take where each arithmetic unit runs at its peak.
double min_seconds(const CaseWork& work, const LimitSample& best) {
  double seconds = ratio(work.attention_ops, best.ops[static_cast<size_t>(work.attention_unit)]);
  for (size_t i = 0; i < kArithmeticUnits; ++i) seconds += ratio(work.gemm_ops[i], best.ops[i]);
  return seconds;
}

Figures::Reading reading_of(const CaseResult& result, double seconds, const LimitSample& best) {
  const CaseWork& work = result.work;
  double weights = static_cast<double>(work.weight_bytes) * static_cast<double>(work.steps);
  double kv = static_cast<double>(work.kv_bytes) * static_cast<double>(work.steps);
  std::vector<double> beside;
  for (const Repetition& repetition : result.repetitions) {
    beside.push_back(ratio(weights / repetition.seconds, repetition.beside.read));
  }
  return {weights / seconds, ratio(weights / seconds, best.read),
          ratio((weights + kv) / seconds, best.read), spread_of(beside).median};
}

}  // namespace

Figures figures_of(const CaseResult& result, ArithmeticUnit unit, const LimitSample& best) {
  HEARTH_CHECK(!result.repetitions.empty(), "figures come from repetitions");
  auto which = static_cast<size_t>(unit);
  double ops = result.work.ops();
  std::vector<double> seconds, rates, beside;
  for (const Repetition& repetition : result.repetitions) {
    seconds.push_back(repetition.seconds);
    rates.push_back(static_cast<double>(result.what.all_tokens()) / repetition.seconds);
    beside.push_back(ratio(ops / repetition.seconds, repetition.beside.ops[which]));
  }
  Figures figures;
  figures.tokens_per_second = spread_of(rates);
  figures.seconds = spread_of(seconds).median;
  figures.ops_per_second = ops / figures.seconds;
  figures.peak_share = ratio(figures.ops_per_second, best.ops[which]);
  figures.mixed_peak_share = min_seconds(result.work, best) / figures.seconds;
  figures.peak_share_beside = spread_of(beside).median;
  if (result.what.phase == Phase::kDecode) {
    figures.reading = reading_of(result, figures.seconds, best);
  }
  return figures;
}

}  // namespace hearth
