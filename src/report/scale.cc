#include "report/scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace hearth {
namespace {

constexpr double kLogarithmicFrom = 20;
constexpr size_t kMaxTicks = 8;
constexpr std::array<double, 3> kRound = {1, 2, 5};
constexpr double kMinScale = 1e-290;  // below this value steps would be no normal numbers
// Values nearer to a round one than this part of a step count as round.
constexpr double kNear = 1e-9;

// Returns `factor` times a power of ten. It is rounded only once, so that it is printed with as few
// digits as `factor`.
double times_power(double factor, int power) {
  return power < 0 ? factor / std::pow(10, -power) : factor * std::pow(10, power);
}

int power_below(double value) { return static_cast<int>(std::floor(std::log10(value) + kNear)); }

Scale logarithmic_scale(double least, double most) {
  Scale scale{.logarithmic = true, .ticks = {}};
  for (int power = power_below(least); power <= power_below(most) + 1; ++power) {
    for (double factor : kRound) {
      const double tick = times_power(factor, power);
      if (!scale.ticks.empty() && scale.ticks.back() >= most) break;
      // The axis begins at the last tick that is not above the smallest value.
      if (tick <= least) scale.ticks.clear();
      scale.ticks.push_back(tick);
    }
  }
  scale.low = scale.ticks.front();
  scale.high = scale.ticks.back();
  if (scale.ticks.size() > kMaxTicks) {
    std::erase_if(scale.ticks, [&](double tick) {
      const double power = std::log10(tick);
      return std::abs(power - std::round(power)) > kNear && tick > scale.low && tick < scale.high;
    });
  }
  return scale;
}

std::string short_number(double value) {
  if (std::abs(value) >= 1e6) return fmt::format("{:.6g} M", value * 1e-6);
  if (std::abs(value) >= 1e4) return fmt::format("{:.6g} k", value * 1e-3);
  return fmt::format("{:.6g}", value);
}

}  // namespace

double Scale::part(double value) const {
  double part = (value - low) / (high - low);
  if (logarithmic) {
    part = value <= 0 ? 0 : std::log(value / low) / std::log(high / low);
  }
  return std::clamp(part, 0.0, 1.0);
}

Scale linear_scale(double most, uint32_t steps) {
  Scale scale;
  if (!(most > kMinScale)) most = 1;
  const double wanted = most / steps;
  const int power = power_below(wanted);
  const double rest = wanted / std::pow(10, power);
  double factor = 10;
  for (double round : kRound) {
    if (rest <= round * (1 + kNear)) {
      factor = round;
      break;
    }
  }
  const auto count = static_cast<uint32_t>(std::ceil(most / times_power(factor, power) - kNear));
  for (uint32_t i = 0; i <= count; ++i) scale.ticks.push_back(times_power(factor * i, power));
  scale.high = scale.ticks.back();
  return scale;
}

Scale scale_over(double least, double most) {
  if (least > 0 && most > least * kLogarithmicFrom) return logarithmic_scale(least, most);
  return linear_scale(most);
}

std::string tick_text(double value, Quantity quantity) {
  if (value == 0 && quantity != Quantity::kPart) return "0";
  switch (quantity) {
    case Quantity::kPart:
      return fmt::format("{:.6g} %", 100 * value);
    case Quantity::kSeconds:
      return value < 1 ? fmt::format("{:.6g} ms", 1e3 * value) : fmt::format("{:.6g} s", value);
    case Quantity::kNumber:
      break;
  }
  return short_number(value);
}

}  // namespace hearth
