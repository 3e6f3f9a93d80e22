// The two futex calls that the waiting primitives use, private to the process (futex(2)). Callers
// need not handle failures: a wait may return without a reason, so callers test their condition in
// a loop.
#pragma once

#include <atomic>
#include <cstdint>

namespace hearth {

// Sleeps while `word` holds `expected`; returns at once if it does not.
void futex_wait(const std::atomic<uint32_t>& word, uint32_t expected) noexcept;

void futex_wake_all(const std::atomic<uint32_t>& word) noexcept;

}  // namespace hearth
