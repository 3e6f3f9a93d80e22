#include "topology/system_memory.h"

#include <fstream>
#include <sstream>
#include <string>

namespace hearth {
namespace {

namespace fs = std::filesystem;

// Returns the value in bytes of the line that has `name` ("MemFree:"), be it "MemFree: 1 kB" or
// "Node 0 MemFree: 1 kB".
uint64_t read_meminfo(const fs::path& file, const std::string& name) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      uint64_t kib = 0;
      if (word == name && words >> kib) return kib << 10;
    }
  }
  return 0;
}

uint64_t read_number(const fs::path& file) {
  std::ifstream in(file);
  uint64_t value = 0;
  in >> value;
  return in ? value : 0;
}

}  // namespace

uint64_t read_available_memory(const fs::path& root) {
  return read_meminfo(root / "proc/meminfo", "MemAvailable:");
}

ThpMode read_thp_mode(const fs::path& root) {
  std::ifstream in(root / "sys/kernel/mm/transparent_hugepage/enabled");
  for (std::string word; in >> word;) {
    if (word == "[always]") return ThpMode::kAlways;
    if (word == "[madvise]") return ThpMode::kMadvise;
    if (word == "[never]") return ThpMode::kNever;
  }
  return ThpMode::kUnavailable;
}

void read_node_memory(const fs::path& root, bool only_node, NumaNode* node) {
  fs::path folder = root / "sys/devices/system/node" / ("node" + std::to_string(node->os_index));
  fs::path meminfo = folder / "meminfo", hugepages = folder / "hugepages";
  std::error_code ignored;
  if (!fs::exists(meminfo, ignored)) {
    if (!only_node) return;
    meminfo = root / "proc/meminfo";
    hugepages = root / "sys/kernel/mm/hugepages";
  }
  for (const char* part : {"MemFree:", "Active(file):", "Inactive(file):", "SReclaimable:"}) {
    node->available_bytes += read_meminfo(meminfo, part);
  }
  node->free_2m = read_number(hugepages / "hugepages-2048kB/free_hugepages");
  node->free_1g = read_number(hugepages / "hugepages-1048576kB/free_hugepages");
}

}  // namespace hearth
