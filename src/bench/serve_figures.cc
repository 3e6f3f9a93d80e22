#include "bench/serve_figures.h"

#include <cmath>

namespace hearth {
namespace {

constexpr uint32_t kMaxTries = 24;
constexpr double kCloseEnough = 1.05;
constexpr double kMaxReduction = 16;

double per_second(uint64_t count, double seconds) {
  return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

}  // namespace

bool ServeSlo::met_by(const ServedRequest& request) const {
  return request.completed() && (!ttft || request.ttft() <= *ttft) &&
         (!tpot || request.tpot() <= *tpot);
}

ServeFigures serve_figures(const ServedLoad& load, const ServeSlo& slo) {
  ServeFigures f;
  f.requests = load.requests.size();
  f.seconds = load.seconds;
  std::vector<double> ttft, tpot, gap, whole;
  uint64_t good = 0;
  for (const ServedRequest& request : load.requests) {
    if (slo.met_by(request)) ++good;
    if (!request.completed()) {
      auto [failures, is_new] = f.failures.try_emplace(request.failure);
      if (is_new) failures->second.said = request.said;
      ++failures->second.count;
      continue;
    }
    ++f.completed;
    f.prompt_tokens += request.prompt_tokens;
    f.output_tokens += request.output_tokens;
    f.shorter += request.output_tokens < request.asked.output;
    f.uncounted += !request.counted_by_server;
    ttft.push_back(request.ttft());
    whole.push_back(request.whole());
    if (request.output_tokens < 2) continue;
    tpot.push_back(request.tpot());
    gap.push_back(request.longest_gap);
  }
  f.request_rate = per_second(f.completed, f.seconds);
  f.prompt_rate = per_second(f.prompt_tokens, f.seconds);
  f.output_rate = per_second(f.output_tokens, f.seconds);
  f.ttft = percentiles_of(ttft);
  f.ttft_quantiles = all_percentiles_of(std::move(ttft));
  f.tpot = percentiles_of(std::move(tpot));
  f.gap = percentiles_of(std::move(gap));
  f.whole = percentiles_of(std::move(whole));
  if (slo.given() && f.requests > 0) {
    f.attainment = static_cast<double>(good) / static_cast<double>(f.requests);
    f.good_rate = per_second(good, f.seconds);
  }
  return f;
}

std::optional<double> goodput(const std::vector<ServedLoad>& loads, const ServeSlo& slo) {
  std::optional<double> best;
  for (const ServedLoad& load : loads) {
    if (!load.rate || (best && *best >= *load.rate)) continue;
    if (serve_figures(load, slo).attainment.value_or(0) >= kGoodputAttainment) best = load.rate;
  }
  return best;
}

std::optional<double> RateSearch::next() const {
  if (tried_ >= kMaxTries) return {};
  if (!reached_ && !missed_) return first_;
  if (!missed_) return *reached_ * 2;
  if (!reached_ && *missed_ * kMaxReduction <= first_) return {};
  if (!reached_) return *missed_ / 2;
  if (*missed_ <= *reached_ * kCloseEnough) return {};
  return std::sqrt(*missed_ * *reached_);
}

void RateSearch::record(double rate, bool reached) {
  ++tried_;
  (reached ? reached_ : missed_) = rate;
}

}  // namespace hearth
