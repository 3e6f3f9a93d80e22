#include "bench/profile_report.h"

#include <fmt/format.h>

#include "bench/figure_text.h"
#include "bench/table.h"

namespace hearth {
namespace {

ProfileRates rates_of(const ProfileSummary& summary, const LimitSample& best) {
  return profile_rates(summary, {best.read, best.ops});
}

const char* bound_text(Bound bound) {
  return bound == Bound::kBandwidth ? "reading" : "arithmetic";
}

std::string rate_or_dash(double value) { return value > 0 ? giga_text(value) : "-"; }

void add_op(const OpRate& op, uint64_t runs, Table* table) {
  bool bounded = op.bound != Bound::kNone;
  double per_run = runs > 0 ? op.seconds / static_cast<double>(runs) : 0;
  table->add({{"op", op.name},
              {"calls", fmt::format("{}", op.calls)},
              {"ms a step", fmt::format("{:.3f}", 1e3 * per_run)},
              {"work", percent_text(op.share.work)},
              {"barrier", percent_text(op.share.barrier)},
              {"groups", percent_text(op.share.meet)},
              {"imbalance", percent_text(op.imbalance)},
              {"GB/s", rate_or_dash(op.bytes_per_second)},
              {"GOPS", rate_or_dash(op.operations_per_second)},
              {"of limit", bounded ? percent_text(op.share_of_limit) : "-"},
              {"bound by", bounded ? bound_text(op.bound) : "-"}});
}

void add_op(const OpRate& op, Json& json) {
  json.object().key("op").text(op.name).key("calls").number(op.calls);
  json.key("seconds").real(op.seconds).key("work_share").real(op.share.work);
  json.key("barrier_share").real(op.share.barrier).key("groups_share").real(op.share.meet);
  json.key("imbalance").real(op.imbalance);
  json.key("gb_per_second").real(op.bytes_per_second * 1e-9);
  json.key("gops").real(op.operations_per_second * 1e-9);
  json.key("limit_seconds").real(op.limit_seconds).key("share").real(op.share_of_limit);
  std::optional<std::string> bound;
  if (op.bound != Bound::kNone) bound = bound_text(op.bound);
  json.key("bound").text_or_null(bound).end_object();
}

}  // namespace

std::string profile_markdown(const std::string& title, const ProfileSummary& summary,
                             const LimitSample& best) {
  ProfileRates rates = rates_of(summary, best);
  std::string out = fmt::format("\n{}: {} steps, {} tokens, {}\n\n", title, summary.runs,
                                summary.tokens, duration_figure(summary.seconds));
  Table ops, threads;
  for (const OpRate& op : rates.ops) add_op(op, summary.runs, &ops);
  add_op(rates.all, summary.runs, &ops);
  out += ops.markdown() + "\n";
  for (size_t t = 0; t < summary.by_threads.size(); ++t) {
    const ProfileTimes& times = summary.by_threads[t];
    auto part = [&](double seconds) { return percent_text(seconds / summary.seconds); };
    threads.add({{"thread", fmt::format("{}", t)},
                 {"work", part(times.work)},
                 {"barrier", part(times.barrier)},
                 {"groups", part(times.meet)}});
  }
  return out + threads.markdown();
}

void profile_json(Json& json, const ProfileSummary& summary, const LimitSample& best) {
  ProfileRates rates = rates_of(summary, best);
  json.object().key("steps").number(summary.runs).key("tokens").number(summary.tokens);
  json.key("seconds").real(summary.seconds).key("ops").array();
  for (const OpRate& op : rates.ops) add_op(op, json);
  json.end_array().key("all");
  add_op(rates.all, json);
  json.key("threads").array();
  for (const ProfileTimes& times : summary.by_threads) {
    json.object().key("work_seconds").real(times.work).key("barrier_seconds").real(times.barrier);
    json.key("groups_seconds").real(times.meet).end_object();
  }
  json.end_array().end_object();
}

}  // namespace hearth
