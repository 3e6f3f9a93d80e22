#include "threads/flag.h"

#include "threads/futex.h"
#include "threads/spin.h"

namespace hearth {
namespace {

void full_fence() noexcept {
#if defined(__SANITIZE_THREAD__)
  // ThreadSanitizer does not know fences. On the processors it runs on, an atomic addition is one.
  std::atomic<uint32_t> word{0};
  word.fetch_add(1, std::memory_order_seq_cst);
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

}  // namespace

void Flag::post_all(std::span<Flag* const> flags, uint32_t epoch) noexcept {
  for (Flag* flag : flags) {
    delay_point();
    flag->epoch_.store(epoch, std::memory_order_release);
  }
  full_fence();
  delay_point();
  for (Flag* flag : flags) {
    if (flag->sleepers_.load(std::memory_order_relaxed) != 0) flag->wake();
  }
}

void Flag::wait_slowly(uint32_t epoch) noexcept {
  if (!skips_spinning() && spin_until([&]() noexcept { return reached(epoch); }, keeping_)) return;
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  for (;;) {
    delay_point();
    uint32_t seen = epoch_.load(std::memory_order_seq_cst);
    if (is_at_least(seen, epoch)) break;
    delay_point();
    futex_wait(epoch_, seen);
  }
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
}

void Flag::wake() noexcept { futex_wake_all(epoch_); }

}  // namespace hearth
