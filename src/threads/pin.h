// Sets and gets the CPU affinity of single threads (sched_setaffinity(2)), for any number of CPUs.
// Linux only.
#pragma once

#include <cstdint>
#include <vector>

namespace hearth {

// Binds thread `tid` (0: the calling one) to the PUs with these operating system numbers. Returns 0
// or the errno, such as EINVAL if none of them may be used.
int set_affinity(int tid, const std::vector<uint32_t>& pus) noexcept;

// Returns the PUs that thread `tid` (0: the calling one) may run on, ascending; empty if unknown.
std::vector<uint32_t> get_affinity(int tid);

}  // namespace hearth
