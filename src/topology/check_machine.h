// Checks whether a machine is set up for fast inference. Each finding says what was found and, if
// that should be changed, what to do. Findings do not identify the machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topology/machine.h"

namespace hearth {

enum class FindingLevel : uint8_t { kOk, kNote, kBad };
const char* finding_level_name(FindingLevel level);  // "ok", "note", "bad"

struct Finding {
  FindingLevel level = FindingLevel::kOk;
  std::string about;   // "cores", "huge pages"
  std::string found;   // a sentence
  std::string remedy;  // empty if nothing is to be changed
};

// Facts about the operating system that a Machine does not hold. Unset: unknown.
struct SystemFacts {
  std::optional<bool> numa_balancing = {};
  std::optional<std::string> governor = {};  // "powersave"
  std::optional<uint64_t> memlock = {};      // bytes; unset: unlimited
  std::optional<int> memory_policy = {};     // of get_mempolicy(2): 0 is the default
  std::optional<uint32_t> channels = {};     // memory channels with modules; unset: unknown
};

SystemFacts read_system_facts();

// Returns how many memory channels hold modules, from the folder of the kernel's drivers of memory
// controllers (EDAC, /sys/devices/system/edac/mc). None if there is no such driver, as in virtual
// machines.
std::optional<uint32_t> count_memory_channels(const std::string& folder);

// Returns the findings about cores, nodes and memory, in that order.
std::vector<Finding> check_machine(const Machine& machine, const SystemFacts& facts);

}  // namespace hearth
