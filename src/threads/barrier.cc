#include "threads/barrier.h"

#include "base/check.h"

namespace hearth {

Barrier::Barrier(uint32_t size) : size_(size), arrivals_(std::make_unique<Flag[]>(size)) {
  HEARTH_CHECK(size > 0, "a barrier has threads");
}

void Barrier::arrive_and_wait(uint32_t index) noexcept {
  HEARTH_CHECK(index < size_, "a barrier's index");
  // A thread's own flag remembers the round for it.
  Flag& own = arrivals_[index];
  uint32_t round = own.posted() + 1;
  if (index != 0) {
    own.post(round);
    arrivals_[0].wait_at_least(round);
    return;
  }
  for (uint32_t i = 1; i < size_; ++i) arrivals_[i].wait_at_least(round);
  own.post(round);
}

}  // namespace hearth
