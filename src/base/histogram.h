// Histogram counts values by ranges: bucket i holds the values up to bounds()[i] that are above the
// bound before, the last one those above all bounds. Thread-safe. Each count is exact; counts read
// together may be of slightly different moments.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"

namespace hearth {

class Histogram {
 public:
  // `upper_bounds` must be ascending.
  explicit Histogram(std::vector<double> upper_bounds)
      : bounds_(std::move(upper_bounds)),
        counts_(std::make_unique<std::atomic<uint64_t>[]>(bounds_.size() + 1)) {
    HEARTH_CHECK(
        std::adjacent_find(bounds_.begin(), bounds_.end(), std::greater_equal<>()) == bounds_.end(),
        "bounds rise");
  }

  // Counts a value, which must not be NaN. Allocates nothing.
  void observe(double value) {
    auto bucket = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
    counts_[static_cast<size_t>(bucket)].fetch_add(1, std::memory_order_relaxed);
    sum_.fetch_add(value, std::memory_order_relaxed);
  }

  std::span<const double> bounds() const { return bounds_; }
  // Returns the count of one bucket, 0 to bounds().size(); counts are not cumulative.
  uint64_t count(size_t bucket) const { return counts_[bucket].load(std::memory_order_relaxed); }
  // Returns the sum of all buckets' counts.
  uint64_t count() const {
    uint64_t all = 0;
    for (size_t bucket = 0; bucket <= bounds_.size(); ++bucket) all += count(bucket);
    return all;
  }
  double sum() const { return sum_.load(std::memory_order_relaxed); }

 private:
  const std::vector<double> bounds_;
  const std::unique_ptr<std::atomic<uint64_t>[]> counts_;
  std::atomic<double> sum_{0};
};

}  // namespace hearth
