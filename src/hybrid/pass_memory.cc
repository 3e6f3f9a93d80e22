#include "hybrid/pass_memory.h"

#include "base/round_up.h"

namespace hearth {
namespace {

constexpr uint64_t kBerthAlign = 4096;

}  // namespace

PassMemory::PassMemory(Accelerator& accelerator, const PassCommands& largest)
    : layout_(largest.layout()) {
  const auto take = [&](uint64_t bytes) {
    return buffers_.emplace_back(accelerator.allocate(bytes)).id();
  };
  ids_.inputs = take(largest.held_bytes());
  if (largest.made_bytes() > 0) ids_.made = take(largest.made_bytes());
  for (uint64_t bytes : layout_.pieces) ids_.values.push_back(take(bytes));
}

PassMemory::Fit PassMemory::fit(const PassLayout& smaller, uint64_t berth_bytes) const {
  const auto used = [&](size_t piece) {
    return piece < smaller.pieces.size() ? smaller.pieces[piece] : 0;
  };
  bool fits = smaller.pieces.size() <= layout_.pieces.size();
  for (size_t i = 0; i < layout_.pieces.size(); ++i) fits = fits && used(i) <= layout_.pieces[i];
  if (!fits) return {layout_, {}};
  Fit fit{smaller, {}};
  for (size_t i = 0; i < layout_.pieces.size(); ++i) {
    uint64_t at = round_up(used(i), kBerthAlign);
    for (; at + berth_bytes <= layout_.pieces[i]; at = round_up(at + berth_bytes, kBerthAlign)) {
      fit.berths.push_back({ids_.values[i], at});
    }
  }
  return fit;
}

}  // namespace hearth
