// WorkShare: tells what share of a sequence of works is done. It is given the likely length of each
// work, in any unit.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace hearth {

class WorkShare {
 public:
  WorkShare() = default;
  explicit WorkShare(std::vector<double> lengths) : lengths_(std::move(lengths)) {}

  // Returns the share that is done, with `done` works complete and the share `of_next` of the next.
  double part(size_t done, double of_next) const {
    const double all = std::accumulate(lengths_.begin(), lengths_.end(), 0.0);
    if (all <= 0) return 1;
    const auto end =
        lengths_.begin() + static_cast<std::ptrdiff_t>(std::min(done, lengths_.size()));
    const double next = end == lengths_.end() ? 0 : *end * std::clamp(of_next, 0.0, 1.0);
    return (std::accumulate(lengths_.begin(), end, 0.0) + next) / all;
  }

 private:
  std::vector<double> lengths_;
};

}  // namespace hearth
