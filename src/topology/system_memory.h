// Reads how much memory the running system has: /proc/meminfo, /sys/devices/system/node and
// /sys/kernel/mm (Linux admin-guide/mm). A file that is missing or unreadable reads as 0 or
// "unavailable"; nothing throws. `root` is the directory that holds proc/ and sys/; "/" but for
// tests.
#pragma once

#include <cstdint>
#include <filesystem>

#include "topology/machine.h"

namespace hearth {

// Returns MemAvailable in bytes.
uint64_t read_available_memory(const std::filesystem::path& root);

ThpMode read_thp_mode(const std::filesystem::path& root);

// Fills available_bytes, free_2m and free_1g of the node with node->os_index. If the kernel knows
// no nodes and `only_node` is set, the numbers are those of the whole system.
void read_node_memory(const std::filesystem::path& root, bool only_node, NumaNode* node);

}  // namespace hearth
