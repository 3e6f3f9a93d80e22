// The most memory that this process had at one time since a chosen moment. It comes from VmHWM and
// HugetlbPages of /proc/self/status (proc(5)); writing clear_refs chooses the moment. Pages of
// mapped files count while they are mapped in. Newer kernels sum counts of their CPUs only now and
// then, so that the figure may be off by some MiB on machines with many CPUs.
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

// Reads text in the form of /proc/self/status; returns none if the text lacks the fields.
std::optional<ProcessMemory> parse_process_memory(std::string_view status);

// Measures the peak since construction. Only one may exist at a time.
class PeakMemory {
 public:
  PeakMemory();

  // Returns the bytes by which the peak exceeds the memory at construction. Explicit huge pages
  // count as they are now. Returns none if the system does not give the figures.
  std::optional<uint64_t> bytes() const;

 private:
  std::optional<ProcessMemory> before_;
};

}  // namespace hearth
