#include "embed/latency_line.h"

#include <cmath>

#include "base/check.h"

namespace hearth {
namespace {

// Sums of the weighted normal equations. A sample's weight is the inverse square of its time.
struct Sums {
  double one = 0, x = 0, xx = 0, y = 0, xy = 0;
};

double distance(const LatencyLine& line, std::span<const LatencySample> samples) {
  double sum = 0;
  for (const LatencySample& s : samples) {
    double part = (line.seconds(s.count) - s.seconds) / s.seconds;
    sum += part * part;
  }
  return sum;
}

}  // namespace

LatencyLine fit_latency(std::span<const LatencySample> samples) {
  HEARTH_CHECK(!samples.empty(), "a line needs a sample");
  Sums sums;
  for (const LatencySample& s : samples) {
    HEARTH_CHECK(s.seconds > 0 && s.count > 0, "a batch takes time");
    double weight = 1 / (s.seconds * s.seconds);
    sums.one += weight;
    sums.x += weight * s.count;
    sums.xx += weight * s.count * s.count;
    sums.y += weight * s.seconds;
    sums.xy += weight * s.count * s.seconds;
  }
  LatencyLine through_zero{sums.xy / sums.xx, 0};
  double determinant = sums.one * sums.xx - sums.x * sums.x;
  // Equal counts give no slope; the remaining determinant is rounding.
  if (determinant <= 1e-12 * sums.one * sums.xx) return through_zero;
  LatencyLine line;
  line.alpha = (sums.one * sums.xy - sums.x * sums.y) / determinant;
  line.beta = (sums.xx * sums.y - sums.x * sums.xy) / determinant;
  if (line.alpha >= 0 && line.beta >= 0) return line;
  // The distance is convex in alpha and beta. So the best allowed line lies on the border: beta = 0
  // or alpha = 0.
  LatencyLine flat{0, sums.y / sums.one};
  return distance(through_zero, samples) <= distance(flat, samples) ? through_zero : flat;
}

uint64_t depth_within(const LatencyLine& line, double seconds, uint64_t most) {
  double room = seconds - line.beta;
  if (line.alpha <= 0) return room >= 0 ? most : 0;
  double depth = room / line.alpha;
  depth = std::floor(depth + 1e-9 * std::abs(depth) + 1e-9);
  if (!(depth >= 1)) return 0;
  return depth < static_cast<double>(most) ? static_cast<uint64_t>(depth) : most;
}

}  // namespace hearth
