#include "engine/shard_shares.h"

#include <algorithm>
#include <numeric>

namespace hearth {
namespace {

// Shares are whole numbers. Shares that were fitted to memory add up to about this.
constexpr double kShareSum = 1 << 16;

}  // namespace

std::vector<uint32_t> shares_by_threads(const Machine& machine, const Placement& placement,
                                        std::span<const uint32_t> member_shards, uint32_t shards) {
  std::vector<uint32_t> shares(shards, 0);
  for (size_t m = 0; m < member_shards.size(); ++m) {
    const Core& core = machine.cores[placement.seats[m].core];
    bool fast = core.kind + 1 == machine.kinds.size() || machine.kinds.empty();
    shares[member_shards[m]] += fast ? 2 : 1;
  }
  auto [least, most] = std::minmax_element(shares.begin(), shares.end());
  if (uint64_t{*least} * 8 >= uint64_t{*most} * 7) std::fill(shares.begin(), shares.end(), 1);
  return shares;
}

std::vector<uint32_t> shares_that_fit(const std::vector<uint32_t>& shares,
                                      std::span<const uint64_t> bytes,
                                      std::span<const uint64_t> room) {
  size_t n = shares.size();
  bool fits = true;
  for (size_t s = 0; s < n; ++s) fits = fits && bytes[s] <= room[s];
  double all = std::accumulate(bytes.begin(), bytes.end(), 0.0);
  if (fits || all > std::accumulate(room.begin(), room.end(), 0.0)) return shares;
  // A full shard gets its room, and the others get the rest in proportion to their shares. Each
  // round fills one shard at least.
  std::vector<bool> full(n, false);
  std::vector<double> parts(n);
  for (bool changed = true; changed;) {
    changed = false;
    double left = all, open = 0;
    for (size_t s = 0; s < n; ++s) {
      left -= full[s] ? static_cast<double>(room[s]) : 0;
      open += full[s] ? 0 : shares[s];
    }
    for (size_t s = 0; s < n; ++s) {
      parts[s] = full[s] ? static_cast<double>(room[s]) : open > 0 ? left * shares[s] / open : 0;
      if (!full[s] && parts[s] > static_cast<double>(room[s])) changed = full[s] = true;
    }
  }
  std::vector<uint32_t> fitted(n);
  for (size_t s = 0; s < n; ++s) fitted[s] = static_cast<uint32_t>(parts[s] / all * kShareSum);
  return fitted;
}

}  // namespace hearth
