#include "hybrid/pass_time.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "kernels/attention/attention.h"

namespace hearth {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr uint32_t kFewRows = 512;

PassTarget only_timed(PassTarget target) {
  target.only_timed = true;
  return target;
}

// Returns by how many seconds each token before a pass's rows makes the pass longer. `alone` is the
// pass's time with no tokens before. For the comparison, a pass is timed with as many tokens before
// as do not make it count as lost. Returns none where the context leaves no room for tokens before.
std::optional<double> prefix_token_seconds(const PassTarget& target, const MeasuredAccelerator& gpu,
                                           const StreamPlan& plan, const TimedOptions& options,
                                           uint32_t rows, double alone) {
  constexpr uint32_t kMaxPrefix = 4096;
  uint32_t pages =
      target.context < rows ? 0 : std::min(target.context - rows, kMaxPrefix) / kPagePositions;
  for (; pages > 0; pages /= 2) {
    const uint32_t before = pages * kPagePositions;
    try {
      return (PassClock(target, gpu, plan, options).seconds(rows, before) - alone) / before;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kResource) throw;
    }
  }
  return {};
}

// Returns the seconds of passes of the plan with these numbers of rows; kNever for those that would
// count as lost.
std::vector<double> seconds_of(const PassTarget& target, const MeasuredAccelerator& gpu,
                               const StreamPlan& plan, const TimedOptions& options,
                               std::span<const uint32_t> rows) {
  PassClock clock(target, gpu, plan, options);
  std::vector<double> seconds(rows.size(), kNever);
  try {
    for (size_t i = 0; i < rows.size(); ++i) seconds[i] = clock.seconds(rows[i]);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kResource) throw;
  }
  return seconds;
}

// Returns the accelerator with unlimited memory. The plan has already checked that its passes fit.
MeasuredAccelerator roomy(MeasuredAccelerator gpu) {
  gpu.facts.free_bytes = gpu.facts.memory_bytes = UINT64_MAX;
  return gpu;
}

}  // namespace

PassClock::PassClock(PassTarget target, const MeasuredAccelerator& gpu, const StreamPlan& plan,
                     const TimedOptions& options)
    : target_(only_timed(std::move(target))),
      accelerator_(std::make_shared<TimedAccelerator>(roomy(gpu), options)),
      pass_(target_, accelerator_, plan) {}

PassFigures PassClock::figures(uint32_t rows, uint32_t first) {
  const std::vector<int32_t> tokens(rows, 0);
  const auto pages_of = [&](KvKind kind) {
    std::vector<uint32_t> pages(pages_for(first + rows));
    const uint32_t count = std::max(1u, target_.kv->page_count(kind));
    for (uint32_t i = 0; i < pages.size(); ++i) pages[i] = i % count;
    return pages;
  };
  const std::vector<uint32_t> pages = pages_of(KvKind::kFull);
  const std::vector<uint32_t> window_pages = pages_of(KvKind::kWindow);
  const uint32_t expanded = target_.expand.positions(first + rows);
  const PassText text{tokens, first, pages, window_pages, expanded};
  const TimedAccelerator& gpu = *accelerator_;
  const PassFigures before{gpu.now(), gpu.computing_seconds(), gpu.copying_seconds(),
                           gpu.bytes_in(), gpu.bytes_out()};
  AllWanted watch;
  pass_.run({&text, 1}, watch);
  return {gpu.now() - before.seconds, gpu.computing_seconds() - before.computing_seconds,
          gpu.copying_seconds() - before.copying_seconds, gpu.bytes_in() - before.bytes_in,
          gpu.bytes_out() - before.bytes_out};
}

namespace {

// A plan counts as no slower than another if it takes at most so many times as long.
constexpr double kLonger = 1.01;

// Returns kFewRows, twice that and so on below `last`, then `last`.
std::vector<uint32_t> doubled_up_to(uint32_t last) {
  std::vector<uint32_t> numbers;
  for (uint32_t number = kFewRows; number < last; number *= 2) numbers.push_back(number);
  numbers.push_back(last);
  return numbers;
}

// Returns the plan of plan_stream(), but with the shortest ring that makes it nearly as fast as
// with the longest.
StreamPlan plan_ring_by_time(const PassTarget& target, const MeasuredAccelerator& gpu,
                             const StreamPlanOptions& options, const TimedOptions& timed) {
  const StreamPlan longest = plan_stream(target, gpu.facts, options);
  if (longest.experts == 0 || options.experts) return longest;
  const std::vector<uint32_t> rows = doubled_up_to(longest.rows);
  const std::vector<double> least = seconds_of(target, gpu, longest, timed, rows);
  StreamPlanOptions shorter = options;
  shorter.rows = longest.rows;
  for (uint32_t ring = kMinRing; ring < longest.experts; ring *= 2) {
    shorter.experts = ring;
    shorter.kept = longest.kept;
    const StreamPlan plan = plan_stream(target, gpu.facts, shorter);
    const std::vector<double> seconds = seconds_of(target, gpu, plan, timed, rows);
    bool near = true;
    for (size_t i = 0; i < rows.size(); ++i) near = near && seconds[i] <= least[i] * kLonger;
    if (!near) continue;
    // The shorter ring may leave memory for more kept layers.
    shorter.kept = options.kept;
    StreamPlan chosen = plan_stream(target, gpu.facts, shorter);
    chosen.no_piece = longest.no_piece;  // a plan with given rows has none
    return chosen;
  }
  return longest;
}

// How long prompts take when passes of one plan compute them.
struct PromptTimes {
  std::vector<double> seconds;  // by prompt
  double longest_layer = 0;     // the longest time of a layer, as a mean over a pass
};

PromptTimes prompt_times(const PassTarget& target, const MeasuredAccelerator& gpu,
                         const StreamPlan& plan, const TimedOptions& options,
                         std::span<const uint32_t> lengths) {
  const auto layers = static_cast<double>(target.model->spec().layers.size());
  PassClock clock(target, gpu, plan, options);
  PromptTimes times{std::vector<double>(lengths.size(), 0)};
  for (size_t i = 0; i < lengths.size(); ++i) {
    for (uint32_t done = 0; done < lengths[i]; done += plan.rows) {
      const double pass = clock.seconds(std::min(plan.rows, lengths[i] - done), done);
      times.seconds[i] += pass;
      times.longest_layer = std::max(times.longest_layer, pass / layers);
    }
  }
  return times;
}

// Whether the last pass over a prompt of that length waits for copies.
bool waits_for_copies(const PassTarget& target, const MeasuredAccelerator& gpu,
                      const StreamPlan& plan, const TimedOptions& options, uint32_t length) {
  constexpr double kComputing = 0.97;
  const uint32_t rows = (length - 1) % plan.rows + 1;
  const PassFigures pass = PassClock(target, gpu, plan, options).figures(rows, length - rows);
  return pass.computing_seconds < kComputing * pass.seconds;
}

// Whether some prompt takes 3 % less time with `one` than with `other`, and none takes over 1 %
// more.
bool sooner(const PromptTimes& one, const PromptTimes& other) {
  constexpr double kLess = 0.97;
  bool some = false;
  for (size_t i = 0; i < one.seconds.size(); ++i) {
    if (one.seconds[i] > other.seconds[i] * kLonger) return false;
    some = some || one.seconds[i] < other.seconds[i] * kLess;
  }
  return some;
}

// Returns the lengths of prompts by which plans are compared. The longest fills a whole context.
std::vector<uint32_t> prompt_lengths(const PassTarget& target) {
  const uint64_t room = uint64_t{target.kv->page_count()} * kPagePositions;
  return doubled_up_to(
      static_cast<uint32_t>(std::min<uint64_t>({target.context, room, kMaxPassRows})));
}

}  // namespace

StreamPlan plan_stream_by_time(const PassTarget& target, const MeasuredAccelerator& gpu,
                               const StreamPlanOptions& options, const TimedOptions& timed) {
  StreamPlan best = plan_ring_by_time(target, gpu, options, timed);
  const std::vector<uint32_t> lengths = prompt_lengths(target);
  if (options.rows != 0 || best.berths == 0 || best.rows < kUsualPassRows) return best;
  try {
    std::optional<PromptTimes> least;  // of `best`
    StreamPlanOptions more = options;
    while (best.rows < lengths.back() &&
           waits_for_copies(target, gpu, best, timed, lengths.back())) {
      if (!least) least = prompt_times(target, gpu, best, timed, lengths);
      more.rows = std::min(2 * best.rows, lengths.back());
      const StreamPlan plan = plan_ring_by_time(target, gpu, more, timed);
      PromptTimes times = prompt_times(target, gpu, plan, timed, lengths);
      if (times.longest_layer > kMaxLayerSeconds / 4 || !sooner(times, *least)) break;
      best = plan;
      least = std::move(times);
    }
  } catch (const Error& error) {
    // There is not enough memory for more rows, or the accelerator would count as lost with them.
    // So `best` stays.
    if (error.code() != ErrorCode::kResource && error.code() != ErrorCode::kUsage) throw;
  }
  return best;
}

PassTime::PassTime(const PassTarget& target, const MeasuredAccelerator& gpu, const StreamPlan& plan,
                   const TimedOptions& options)
    : layers_(static_cast<uint32_t>(target.model->spec().layers.size())) {
  constexpr uint32_t kFewest = 16, kPrefixSteps = 8;
  PassClock clock(target, gpu, plan, options);
  try {
    for (uint32_t rows = kFewest; rows < plan.rows; rows *= 2) {
      points_.emplace_back(rows, clock.seconds(rows));
    }
    points_.emplace_back(plan.rows, clock.seconds(plan.rows));
  } catch (const Error& error) {
    // The accelerator would count as lost with so many rows. The table ends before them, since more
    // rows take even longer.
    if (error.code() != ErrorCode::kResource) throw;
  }
  if (points_.empty()) return;
  const auto most = static_cast<uint32_t>(points_.back().first);
  for (uint32_t rows = std::min(kFewest, most);; rows = std::min(rows * kPrefixSteps, most)) {
    const auto each = prefix_token_seconds(target, gpu, plan, options, rows, seconds(rows));
    if (each) prefixes_.emplace_back(rows, *each);
    if (rows == most) return;
  }
}

double PassTime::seconds(uint32_t rows) const {
  if (points_.empty() || rows > points_.back().first) return kNever;
  return value_at(points_, rows);
}

double PassTime::prefix_seconds(uint32_t rows, uint32_t before) const {
  if (before == 0 || prefixes_.empty()) return 0;
  const double more = value_at(prefixes_, rows) * before;
  return (seconds(rows) + more) / layers_ > kMaxLayerSeconds ? kNever : more;
}

}  // namespace hearth
