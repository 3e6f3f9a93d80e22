// The two futex calls that the waiting primitives stand on, private to the process (futex(2)).
// Neither fails in a way that a caller could use: a wait may return for no reason, so callers test
// their condition in a loop.
#pragma once

#include <atomic>
#include <cstdint>

namespace hearth {

// Sleeps while `word` holds `expected`; returns at once where it doesn't.
void futex_wait(const std::atomic<uint32_t>& word, uint32_t expected) noexcept;

void futex_wake_all(const std::atomic<uint32_t>& word) noexcept;

}  // namespace hearth
