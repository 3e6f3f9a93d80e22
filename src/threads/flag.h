// A Flag is an epoch word. It is posted by one thread at a time, or by the last of several threads
// that arrive. Epochs are posted in rising order; waiters wait until at least their epoch was
// posted. Waiting spins for kSpinTime on the flag's own cache line and then sleeps on a futex. All
// writes of the posting thread before post() are visible after wait_at_least().
//
// Epochs wrap: they are compared by signed distance, so waits must lie within 2^31 of the posts.
// A flag that one thread waits on should lie in memory of that thread's node (it may be placed in
// an arena: it is trivially destructible). No operation allocates or throws.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "threads/delay_point.h"

namespace hearth {

// The distance at which words share no cache line: 128 bytes, since processors fetch lines in
// pairs.
inline constexpr size_t kLineSpacing = 128;

class alignas(kLineSpacing) Flag {
 public:
  Flag() = default;
  Flag(const Flag&) = delete;
  Flag& operator=(const Flag&) = delete;

  void post(uint32_t epoch) noexcept {
    // The store and the check for sleepers are sequentially consistent with wait_slowly(): either
    // the sleeper sees the epoch, or this thread sees the sleeper.
    delay_point();
    epoch_.exchange(epoch, std::memory_order_seq_cst);
    delay_point();
    if (sleepers_.load(std::memory_order_seq_cst) != 0) [[unlikely]]
      wake();
  }

  // Adds `count` to the arrivals of this epoch, which needs `expected` of them. The call that
  // completes them posts the epoch. All writes before any arrival are visible after
  // wait_at_least().
  void arrive(uint32_t count, uint32_t expected, uint32_t epoch) noexcept {
    delay_point();
    if (arrived_.fetch_add(count, std::memory_order_acq_rel) + count != expected) return;
    arrived_.store(0, std::memory_order_relaxed);  // no thread arrives for the next epoch yet
    post(epoch);
  }

  // Posts the epoch to each of the flags, but does not wait for the cache line of one flag before
  // it asks for the next: a line that a core of another package holds takes 0.4 us to fetch.
  static void post_all(std::span<Flag* const> flags, uint32_t epoch) noexcept;

  void wait_at_least(uint32_t epoch) noexcept {
    if (reached(epoch)) return;
    wait_slowly(epoch);
  }

  bool reached(uint32_t epoch) const noexcept {
    return is_at_least(epoch_.load(std::memory_order_acquire), epoch);
  }

  // Returns the epoch posted last. Other threads than the writer may get an older one.
  uint32_t posted() const noexcept { return epoch_.load(std::memory_order_relaxed); }

  // Returns how many waiters sleep now, or are about to.
  uint32_t sleepers() const noexcept { return sleepers_.load(std::memory_order_relaxed); }

 private:
  static bool is_at_least(uint32_t value, uint32_t epoch) noexcept {
    return static_cast<int32_t>(value - epoch) >= 0;
  }
  void wait_slowly(uint32_t epoch) noexcept;
  void wake() noexcept;

  std::atomic<uint32_t> epoch_{0};
  std::atomic<uint32_t> sleepers_{0};
  std::atomic<uint32_t> arrived_{0};
  std::atomic<uint32_t> keeping_{0};  // of spin_until(), spin.h
};

}  // namespace hearth
