// A delay point is a place where a test may delay a thread. The schedule fuzzer (tests/sync) is
// built with HEARTH_DELAY_POINTS and defines both functions. With delays between the steps of
// posting, waiting and claiming it reaches orders of events that hardly ever occur by chance. In
// every other build the functions do nothing.
#pragma once

namespace hearth {

#if defined(HEARTH_DELAY_POINTS)
void delay_point() noexcept;
// Returns whether a waiter is to sleep at once, without spinning.
bool skips_spinning() noexcept;
#else
inline void delay_point() noexcept {}
inline bool skips_spinning() noexcept { return false; }
#endif

}  // namespace hearth
