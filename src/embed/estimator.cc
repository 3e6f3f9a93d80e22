#include "embed/estimator.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace hearth {
namespace {

constexpr uint32_t kGrowth = 4;
// A time below this share of the objective says too little about the slope.
constexpr double kNear = 0.35;

// Returns a size to measure, near the depth. Consecutive calls give different sizes, so that the
// line is fitted to more than one point there.
uint32_t spread_out(uint64_t depth, uint32_t measured) {
  constexpr double kShares[] = {1, 0.9, 1.05, 0.95, 0.8};
  double count = std::round(static_cast<double>(depth) * kShares[measured % std::size(kShares)]);
  return static_cast<uint32_t>(std::max(count, 1.0));
}

}  // namespace

Estimate estimate_depth(const std::function<double(uint32_t count)>& measure,
                        const EstimateOptions& options) {
  HEARTH_CHECK(
      options.slo > 0 && options.concurrencies > 0 && options.repetitions > 0 && options.most > 0,
      "something is measured");
  Estimate out;
  uint32_t count = 1, near = 0, largest = 1;
  for (uint32_t done = 0; done < options.concurrencies; ++done) {
    double sum = 0;
    largest = std::max(largest, count);
    for (uint32_t i = 0; i < options.repetitions; ++i) {
      double seconds = std::max(measure(count), 1e-9);
      out.samples.push_back({static_cast<double>(count), seconds});
      sum += seconds;
    }
    out.line = fit_latency(out.samples);
    double mean = sum / options.repetitions;
    if (done == 0 && mean > options.slo) return out;
    out.depth = depth_within(out.line, options.slo, options.most);
    if (mean < kNear * options.slo && near == 0 && count < options.most) {
      count = std::min(kGrowth * count, options.most);
      // The next size is at most a little more than the depth by the line through the sizes so far.
      if (done > 0 && out.line.alpha > 0) {
        count = std::min<uint32_t>(count, std::max<uint32_t>(1, spread_out(out.depth, 2)));
      }
      continue;
    }
    if (done == 0) {
      count = 2;
      continue;
    }
    // A slope that by chance is almost zero may promise any depth, so sizes grow at most by
    // kGrowth.
    count = std::min({spread_out(out.depth, near++), kGrowth * largest, options.most});
  }
  return out;
}

DepthTuner::DepthTuner(std::vector<Device> devices, double slo, uint64_t most)
    : devices_(std::move(devices)), slo_(slo) {
  for (const Device& device : devices_) depths_.push_back(std::min(device.depth, most));
  held_.assign(devices_.size(), 0);
  most_.assign(devices_.size(), most);
  for (size_t i = 0; i < devices_.size(); ++i) {
    if (depths_[i] == 0) most_[i] = 0;
  }
  done_ = std::all_of(depths_.begin(), depths_.end(), [](uint64_t depth) { return depth == 0; });
}

bool DepthTuner::record(const std::vector<double>& seconds) {
  HEARTH_CHECK(!done_ && seconds.size() == devices_.size(), "one time for each device of a round");
  bool late = false, moved = false;
  for (size_t i = 0; i < devices_.size(); ++i) {
    if (depths_[i] > 0 && seconds[i] > slo_) late = true;
  }
  for (size_t i = 0; i < devices_.size(); ++i) {
    uint64_t& depth = depths_[i];
    if (depth == 0) continue;
    uint64_t next = depth;
    double alpha = devices_[i].line.alpha;
    double gap = std::abs(slo_ - seconds[i]);
    if (seconds[i] > slo_) {
      most_[i] = depth - 1;
      held_[i] = std::min(held_[i], most_[i]);
      // If the device was delayed once, `gap` may be longer than its whole depth takes, so the
      // depth falls by half at most.
      double fewer = alpha > 0 ? std::min(gap / alpha, static_cast<double>(depth) / 2) : 1;
      next = depth - std::max<uint64_t>(1, static_cast<uint64_t>(fewer));
      next = std::max(next, held_[i]);
    } else {
      held_[i] = std::max(held_[i], depth);
      // If other devices are late, this time was measured beside too many of their queries, so this
      // depth does not rise.
      auto more = !late && alpha > 0 ? static_cast<uint64_t>(gap / alpha + 1e-9) : 0;
      next = std::min(depth + more, most_[i]);
    }
    moved = moved || next != depth;
    depth = next;
  }
  done_ = !late && !moved;
  return !done_;
}

std::vector<uint64_t> tune_depths(
    const std::vector<DepthTuner::Device>& start, double slo, uint64_t most,
    const std::function<std::vector<double>(const std::vector<uint64_t>& depths)>& round) {
  DepthTuner tuner(start, slo, most);
  while (!tuner.done()) tuner.record(round(tuner.depths()));
  return tuner.depths();
}

}  // namespace hearth
