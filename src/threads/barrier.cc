#include "threads/barrier.h"

#include <bit>

#include "base/check.h"

namespace hearth {

Barrier::Barrier(uint32_t size) : size_(size) {
  HEARTH_CHECK(size > 0, "a barrier has threads");
  auto steps = static_cast<size_t>(std::bit_width(size - 1));
  flags_ = std::make_unique<Flag[]>(steps * size);
}

void Barrier::arrive_and_wait(uint32_t index) noexcept {
  HEARTH_CHECK(index < size_, "a barrier's index");
  if (size_ == 1) return;
  // The flag that only this thread writes remembers the round for it.
  uint32_t round = flags_[(index + 1) % size_].posted() + 1;
  Flag* step = flags_.get();
  for (uint32_t distance = 1; distance < size_; distance *= 2) {
    step[(index + distance) % size_].post(round);
    step[index].wait_at_least(round);
    step += size_;
  }
}

}  // namespace hearth
