#include "bench/profile_report.h"

#include <fmt/format.h>

#include "bench/figure_text.h"
#include "bench/table.h"

namespace hearth {
namespace {

const char* bound_text(Bound bound) {
  switch (bound) {
    case Bound::kBandwidth:
      return "reading";
    case Bound::kArithmetic:
      return "arithmetic";
    case Bound::kNone:
      break;
  }
  return "-";
}

std::string rate_or_dash(double value) { return value > 0 ? giga_text(value) : "-"; }

void add_op(const OpRate& op, uint64_t runs, Table* table) {
  double per_run = runs > 0 ? op.seconds / static_cast<double>(runs) : 0;
  table->add({op.name, fmt::format("{}", op.calls), fmt::format("{:.3f}", 1e3 * per_run),
              percent_text(op.share.work), percent_text(op.share.barrier),
              percent_text(op.share.meet), percent_text(op.imbalance),
              rate_or_dash(op.bytes_per_second), rate_or_dash(op.operations_per_second),
              op.bound == Bound::kNone ? "-" : percent_text(op.share_of_limit),
              bound_text(op.bound)});
}

}  // namespace

MachineLimits machine_limits(const LimitSample& best) { return {best.read, best.ops}; }

std::string profile_markdown(const std::string& title, const ProfileSummary& summary,
                             const LimitSample& best) {
  ProfileRates rates = profile_rates(summary, machine_limits(best));
  std::string out = fmt::format("\n{}: {} steps, {} tokens, {}\n\n", title, summary.runs,
                                summary.tokens, duration_figure(summary.seconds));
  Table ops({"op", "calls", "ms a step", "work", "barrier", "groups", "imbalance", "GB/s", "GOPS",
             "of limit", "bound by"});
  for (const OpRate& op : rates.ops) add_op(op, summary.runs, &ops);
  add_op(rates.all, summary.runs, &ops);
  out += ops.markdown() + "\n";
  Table threads({"thread", "work", "barrier", "groups"});
  for (size_t t = 0; t < summary.by_threads.size(); ++t) {
    const ProfileTimes& times = summary.by_threads[t];
    auto part = [&](double seconds) { return percent_text(seconds / summary.seconds); };
    threads.add({fmt::format("{}", t), part(times.work), part(times.barrier), part(times.meet)});
  }
  return out + threads.markdown();
}

}  // namespace hearth
