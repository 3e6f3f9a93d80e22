// The most memory that this process has had at one time (proc(5): VmHWM and HugetlbPages of
// /proc/self/status), since a moment that Linux lets it choose (clear_refs). Pages of mapped files
// count as long as they are mapped in. Newer kernels add counts of their CPUs up now and then, so
// that the figure may be off by some MiB on machines with many.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace hearth {

// The memory of a process in bytes.
struct ProcessMemory {
  uint64_t resident = 0, peak = 0;  // without explicit huge pages
  uint64_t huge = 0;                // explicit huge pages, now
};

// Reads a file in the form of /proc/self/status; none where it does not tell.
std::optional<ProcessMemory> parse_process_memory(std::string_view status);

// Measures the peak since it was made; only one may exist at a time.
class PeakMemory {
 public:
  PeakMemory();

  // Returns by how much the peak since the constructor exceeds the memory at that time; explicit
  // huge pages count as they are now. None where the system does not say.
  std::optional<uint64_t> bytes() const;

 private:
  std::optional<ProcessMemory> before_;
};

}  // namespace hearth
