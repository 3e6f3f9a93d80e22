// Reads the limits that cgroups set on this process: CPU time and memory. It knows version 1 (one
// hierarchy per controller), version 2 (unified), and both at once, as hybrid systems mount them. A
// limit of any ancestor binds, so every level up to the mount point is read and the tightest
// counts. CPU sets are not read here: the kernel already holds every thread's affinity within them.
//
// Files: proc(5) self/cgroup and self/mountinfo; cpu.max, memory.max, memory.high (Linux
// admin-guide/cgroup-v2); cpu.cfs_quota_us, memory.limit_in_bytes (cgroup-v1). A file that is
// missing or unreadable sets no limit; nothing throws.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace hearth {

struct CgroupLimits {
  std::optional<double> cpu_quota;       // in cores
  std::optional<uint64_t> memory_limit;  // bytes
  // The bytes left below the limits. The file cache does not count as usage, since the kernel drops
  // it first.
  std::optional<uint64_t> memory_left;
};

// Reads the limits. `root` is the directory that holds proc/ and sys/; "/" except in tests.
CgroupLimits read_cgroup_limits(const std::filesystem::path& root);

}  // namespace hearth
