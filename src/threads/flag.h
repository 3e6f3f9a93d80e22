// A Flag is an epoch word with one writer at a time, or with several that arrive, of which the last
// one posts. Epochs are posted in rising order; waiters wait until at least their epoch was posted.
// Waiting spins for kSpinTime on the flag's own cache line and then sleeps on a futex. All writes
// of the writer before post() are visible after wait_at_least().
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

// Words at this distance share no cache line: 128 bytes, since processors fetch lines in pairs.
inline constexpr size_t kLineSpacing = 128;

class alignas(kLineSpacing) Flag {
 public:
  Flag() = default;
  Flag(const Flag&) = delete;
  Flag& operator=(const Flag&) = delete;

  void post(uint32_t epoch) noexcept {
    // This is sequentially consistent against wait_slowly(): either the sleeper sees the epoch, or
    // the writer sees the sleeper.
    delay_point();
    epoch_.exchange(epoch, std::memory_order_seq_cst);
    delay_point();
    if (sleepers_.load(std::memory_order_seq_cst) != 0) [[unlikely]]
      wake();
  }

  // Counts `count` of the `expected` arrivals that an epoch needs; the call that completes them
  // posts the epoch. All writes before any arrival are visible after wait_at_least().
  void arrive(uint32_t count, uint32_t expected, uint32_t epoch) noexcept {
    delay_point();
    if (arrived_.fetch_add(count, std::memory_order_acq_rel) + count != expected) return;
    arrived_.store(0, std::memory_order_relaxed);  // no thread arrives for the next epoch yet
    post(epoch);
  }

  // Acts as post() to each of the flags, but without waiting for one line to arrive before asking
  // for the next: a line that a core of another package holds takes 0.4 us to fetch.
  static void post_all(std::span<Flag* const> flags, uint32_t epoch) noexcept;

  void wait_at_least(uint32_t epoch) noexcept {
    if (reached(epoch)) return;
    wait_slowly(epoch);
  }

  bool reached(uint32_t epoch) const noexcept {
    return is_at_least(epoch_.load(std::memory_order_acquire), epoch);
  }

  // Returns the epoch posted last; exact for the writer itself.
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
  std::atomic<uint32_t> keeping_{0};  // spin.h
};

}  // namespace hearth
