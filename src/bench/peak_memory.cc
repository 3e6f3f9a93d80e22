#include "bench/peak_memory.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <string>

namespace hearth {
namespace {

// Returns the bytes of the line "NAME:   123 kB".
std::optional<uint64_t> field(std::string_view status, std::string_view name) {
  for (size_t at = 0; at < status.size();) {
    size_t end = std::min(status.find('\n', at), status.size());
    std::string_view line = status.substr(at, end - at);
    at = end + 1;
    if (!line.starts_with(name) || line.substr(name.size(), 1) != ":") continue;
    size_t digit = std::min(line.find_first_of("0123456789"), line.size());
    uint64_t kib = 0;
    if (std::from_chars(line.data() + digit, line.data() + line.size(), kib).ec != std::errc()) {
      return std::nullopt;
    }
    return kib << 10;
  }
  return std::nullopt;
}

std::optional<ProcessMemory> read_process_memory() {
  std::ifstream file("/proc/self/status");
  std::string status(std::istreambuf_iterator<char>(file), {});
  return parse_process_memory(status);
}

}  // namespace

std::optional<ProcessMemory> parse_process_memory(std::string_view status) {
  std::optional<uint64_t> resident = field(status, "VmRSS"), peak = field(status, "VmHWM");
  if (!resident || !peak) return std::nullopt;
  return ProcessMemory{*resident, *peak, field(status, "HugetlbPages").value_or(0)};
}

PeakMemory::PeakMemory() {
  // Writing 5 resets the peak to the memory that is resident now.
  std::ofstream clear("/proc/self/clear_refs");
  clear << "5" << std::flush;
  if (clear) before_ = read_process_memory();
}

std::optional<uint64_t> PeakMemory::bytes() const {
  std::optional<ProcessMemory> now = before_ ? read_process_memory() : std::nullopt;
  if (!now) return std::nullopt;
  auto above = [](uint64_t to, uint64_t from) { return to > from ? to - from : 0; };
  return above(now->peak, before_->resident) + above(now->huge, before_->huge);
}

}  // namespace hearth
