#include "tune/product_trials.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/spread.h"
#include "bench/cpu_times.h"

namespace hearth {
namespace {

// The most products that one trial computes.
constexpr double kMaxTrialProducts = 16;
// The rounds of a short trial. It ends after any round in which the schedule costs more than kLost
// times the default.
constexpr int kRounds = 3;
constexpr double kLost = 1.15;
// A schedule looks faster if its fast start ends with at most this cost in short trials. The limit
// is below 1, since the error of short trials may make a schedule look cheaper than it is.
constexpr double kLooksFaster = 0.97;
// The rounds in which the best schedules of a search are compared.
constexpr int kFinalRounds = 15;

}  // namespace

GemmSchedule make_default_schedule(const GemmKernel& gemm, const ProductUse& use, uint32_t rows,
                                   uint32_t max_rows) {
  const ProductShape& shape = use.shape;
  const PackSpec spec{.kind = shape.kind, .rows = shape.outputs, .k = shape.k, .k_origin = 0};
  GemmSchedule made = gemm.default_for(use.of_outputs ? rows : std::min(rows, kTaskRows));
  made.task_panels = static_cast<uint16_t>(
      use.task_panels != 0 ? use.task_panels
      : use.segments > 1   ? column_task_panels(spec, shape.threads, max_rows)
                           : task_panels(spec, spec.panels(), shape.threads, max_rows));
  made.task_rows = kTaskRows;
  return made;
}

ProductTrials::ProductTrials(const PackedCopies& weights, const Kernels& kernels,
                             const ProductUse& use, uint32_t rows, uint32_t max_rows,
                             TimedTeam& team, const std::function<bool()>& stop)
    : product_(weights, kernels.gemm[static_cast<size_t>(use.shape.kind)], rows, team, {},
               {use.shape.matrices, use.segments}),
      default_schedule_(make_default_schedule(kernels.gemm[static_cast<size_t>(use.shape.kind)],
                                              use, rows, max_rows)),
      stop_(stop),
      threads_(team.size()) {
  product_.set_schedule(default_schedule_);
  product_.run(2);
  const double one = product_.run(2) / 2;
  count_ = static_cast<uint32_t>(std::clamp(std::ceil(kMinSeconds / one), 1.0, kMaxTrialProducts));
}

double ProductTrials::seconds(const GemmSchedule& schedule) {
  product_.set_schedule(schedule);
  return product_.run(count_) / count_;
}

double ProductTrials::cost(const GemmSchedule& schedule) {
  // The shortest round counts, since a disturbance can only add time.
  double least = std::numeric_limits<double>::infinity(), least_of_default = least;
  for (int round = 0; round < kRounds; ++round) {
    if (stop_()) return std::numeric_limits<double>::infinity();
    least_of_default = std::min(least_of_default, seconds(default_schedule_));
    least = std::min(least, seconds(schedule));
    if (least > kLost * least_of_default) break;
  }
  return least / least_of_default;
}

ProductTrials::Found ProductTrials::search(ScheduleSearch* search, const ScheduleSpace& space,
                                           const std::vector<ScheduleSpace::Tile>& tiles,
                                           const std::function<void(double cost)>& on_cost) {
  const auto look = [&](const GemmSchedule& schedule) {
    const double took = cost(schedule);
    on_cost(took);
    return took;
  };
  const SearchResult result = search->search(space, default_schedule_, look, tiles);
  std::vector<GemmSchedule> finalists = result.runners_up;
  finalists.push_back(result.best);
  return {fastest(finalists), result.trials};
}

std::optional<GemmSchedule> ProductTrials::look(const ScheduleSearch& search, ScheduleSpace space,
                                                const std::vector<ScheduleSpace::Tile>& tiles) {
  space.parts = {1};
  const auto timer = [&](const GemmSchedule& schedule) { return cost(schedule); };
  const SearchResult result = search.fast_start(space, default_schedule_, timer, tiles);
  return result.seconds < kLooksFaster ? std::optional(result.best) : std::nullopt;
}

GemmSchedule ProductTrials::fastest(const std::vector<GemmSchedule>& schedules) {
  std::vector<std::vector<double>> took(schedules.size());
  for (int round = 0; round < kFinalRounds && !stop_(); ++round) {
    for (size_t i = 0; i < schedules.size(); ++i) took[i].push_back(seconds(schedules[i]));
  }
  const auto best = std::ranges::min_element(
      took, {}, [](const std::vector<double>& seconds) { return spread_of(seconds).median; });
  return schedules[static_cast<size_t>(best - took.begin())];
}

std::optional<ProductTrials::Comparison> ProductTrials::compare(const GemmSchedule& schedule) {
  auto trial = [&](const GemmSchedule& of) {
    return [this, of]() -> std::optional<double> {
      const QuietCheck check;
      const double took = seconds(of);
      const bool counts = check.quiet(took * count_, threads_) || stop_();
      return counts ? std::optional(took) : std::nullopt;
    };
  };
  PairedTrials pairs;
  const PairedTrials::Verdict verdict = pairs.run(trial(default_schedule_), trial(schedule), stop_);
  if (verdict == PairedTrials::Verdict::kOpen) return std::nullopt;
  return Comparison{verdict, pairs.ratio(), pairs.pairs()};
}

}  // namespace hearth
