// A thread spins for a short while before it sleeps. A futex costs about 10 us, while a spinning
// thread sees a store after 50 ns, so waits between ops spin. They never spin for long, so that an
// idle process uses no CPU, and that a machine with fewer CPUs than threads gets on.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace hearth {

// The time that a thread spins before it sleeps: several times the difference between the times at
// which an op's threads end.
inline constexpr std::chrono::microseconds kSpinTime{50};

// Tells the core that this is a spin loop.
inline void cpu_relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  // `yield` is a no-op on most cores; `isb` waits for tens of cycles, as x86's pause does.
  asm volatile("isb" ::: "memory");
#endif
}

namespace spin_detail {
// The slow part of spin_until(), a function of its own so that the fast part can be inlined. Waits
// until kSpinTime is over. Between calls of ready() it yields the CPU to other runnable threads,
// unless an earlier yield took too long.
using ReadyFn = bool (*)(const void* context) noexcept;
bool spin_and_yield(ReadyFn ready, const void* context, std::atomic<uint32_t>& keeping) noexcept;
}  // namespace spin_detail

// Spins until ready() is true, for at most about kSpinTime, and returns ready()'s last answer.
// `keeping` belongs to the place that is waited at, and is 0 at first. After a yield that took too
// long it counts down the next waits at this place, which do not yield.
template <typename Ready>
bool spin_until(const Ready& ready, std::atomic<uint32_t>& keeping) noexcept {
  // This loop takes about 1 us, and most waits end in it, without a look at the clock. A much
  // longer loop costs far more if threads share CPUs (8 threads on 2 busy CPUs: 240 us a barrier
  // with 256 pauses, 85 us with 32).
  for (int i = 0; i < 32; ++i) {
    if (ready()) return true;
    cpu_relax();
  }
  return spin_detail::spin_and_yield(
      [](const void* context) noexcept { return (*static_cast<const Ready*>(context))(); }, &ready,
      keeping);
}

}  // namespace hearth
