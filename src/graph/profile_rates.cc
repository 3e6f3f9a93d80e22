#include "graph/profile_rates.h"

#include <algorithm>

namespace hearth {
namespace {

// Returns a / b, or 0 if b was not measured or is not known.
double ratio(double a, double b) { return b > 0 ? a / b : 0; }

double operations_of(const OpWork& work) {
  double sum = 0;
  for (uint64_t operations : work.operations) sum += static_cast<double>(operations);
  return sum;
}

void set_limit(const OpWork& work, const MachineLimits& limits, OpRate* rate) {
  double read = ratio(static_cast<double>(work.bytes), limits.bytes_per_second), computed = 0;
  for (size_t u = 0; u < kArithmeticUnits; ++u) {
    computed += ratio(static_cast<double>(work.operations[u]), limits.operations_per_second[u]);
  }
  rate->limit_seconds = std::max(read, computed);
  if (rate->limit_seconds > 0) {
    rate->bound = read > computed ? Bound::kBandwidth : Bound::kArithmetic;
  }
}

void set_rates(const OpWork& work, OpRate* rate) {
  rate->bytes_per_second = ratio(static_cast<double>(work.bytes), rate->seconds);
  rate->operations_per_second = ratio(operations_of(work), rate->seconds);
  rate->share_of_limit = ratio(rate->limit_seconds, rate->seconds);
}

OpRate rate_of(const ProfileRow& row, double wall, const MachineLimits& limits) {
  OpRate rate;
  rate.name = row.name;
  rate.calls = row.calls;
  rate.seconds = row.mean.work + row.mean.barrier;
  rate.share = {ratio(row.mean.meet, wall), ratio(row.mean.work, wall),
                ratio(row.mean.barrier, wall)};
  rate.imbalance = ratio(row.most.work - row.mean.work, row.mean.work);
  set_limit(row.work, limits, &rate);
  set_rates(row.work, &rate);
  return rate;
}

// Ops run one after the other, so their least times add up. The bound of all ops is the one that
// limits the most of this time.
OpRate rate_of_all(const ProfileSummary& summary, const std::vector<OpRate>& ops) {
  OpRate all;
  all.name = "all";
  all.calls = summary.runs;
  all.seconds = summary.seconds;
  double reading = 0;
  for (const OpRate& op : ops) {
    all.share.meet += op.share.meet;
    all.share.work += op.share.work;
    all.share.barrier += op.share.barrier;
    all.limit_seconds += op.limit_seconds;
    if (op.bound == Bound::kBandwidth) reading += op.limit_seconds;
  }
  if (all.limit_seconds > 0) {
    all.bound = 2 * reading > all.limit_seconds ? Bound::kBandwidth : Bound::kArithmetic;
  }
  double sum = 0, most = 0;
  for (const ProfileTimes& times : summary.by_threads) {
    sum += times.work;
    most = std::max(most, times.work);
  }
  double mean = ratio(sum, summary.threads);
  all.imbalance = ratio(most - mean, mean);
  OpWork work;
  for (const ProfileRow& row : summary.rows) work += row.work;
  set_rates(work, &all);
  return all;
}

}  // namespace

ProfileRates profile_rates(const ProfileSummary& summary, const MachineLimits& limits) {
  ProfileRates rates;
  for (const ProfileRow& row : summary.rows) {
    rates.ops.push_back(rate_of(row, summary.seconds, limits));
  }
  rates.all = rate_of_all(summary, rates.ops);
  return rates;
}

}  // namespace hearth
