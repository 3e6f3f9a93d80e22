#include "topology/check_machine.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/bytes_text.h"
#include "base/count_text.h"

namespace hearth {
namespace {

std::optional<std::string> first_word(const char* path) {
  std::ifstream file(path);
  std::string word;
  if (file >> word) return word;
  return std::nullopt;
}

Finding check_quota(const Machine& machine) {
  const uint32_t cores = machine.allowed_core_count();
  Finding finding{FindingLevel::kOk, "cores", "", ""};
  finding.found =
      fmt::format("{} may be used, of {}", count_text(cores, "core"), machine.cores.size());
  if (machine.cpu_quota && *machine.cpu_quota < cores) {
    finding.level = FindingLevel::kBad;
    finding.found +=
        fmt::format(", and a cgroup gives them the time of {:.1f}", *machine.cpu_quota);
    finding.remedy = fmt::format(
        "threads beyond the quota slow each other down: raise it (cpu.max, docker --cpus), or give "
        "-t {}",
        std::max(1, static_cast<int>(std::floor(*machine.cpu_quota))));
  } else if (cores < machine.cores.size()) {
    finding.level = FindingLevel::kNote;
    finding.remedy =
        "CPU affinity or a cpuset excludes the others: widen it, unless that is intended";
  }
  return finding;
}

Finding check_nodes(const Machine& machine, const SystemFacts& facts) {
  Finding finding{FindingLevel::kOk, "memory nodes", count_text(machine.nodes.size(), "node"), ""};
  if (machine.nodes.size() < 2) return finding;
  if (facts.memory_policy.value_or(0) != 0) {
    finding.level = FindingLevel::kBad;
    finding.found += ", and numactl forces a memory policy on this process";
    finding.remedy = "start without numactl: weights are placed on the nodes that read them";
  } else if (facts.numa_balancing.value_or(false)) {
    finding.level = FindingLevel::kNote;
    finding.found += ", and the kernel moves pages between them (numa_balancing)";
    finding.remedy =
        "weights already lie where they are read: turn this off with sysctl "
        "kernel.numa_balancing=0";
  }
  return finding;
}

Finding check_huge_pages(const Machine& machine) {
  Finding finding{FindingLevel::kOk, "huge pages",
                  fmt::format("transparent ones: {}", thp_mode_name(machine.thp)), ""};
  uint64_t free_2m = 0, free_1g = 0;
  for (const NumaNode& node : machine.nodes) {
    free_2m += node.free_2m;
    free_1g += node.free_1g;
  }
  if (free_2m > 0) finding.found += fmt::format("; {} of 2 MiB are reserved and free", free_2m);
  if (free_1g > 0) finding.found += fmt::format("; {} of 1 GiB are reserved and free", free_1g);
  if (machine.thp != ThpMode::kNever && machine.thp != ThpMode::kUnavailable) return finding;
  finding.level = FindingLevel::kNote;
  finding.remedy =
      "weights are in small pages, which slows reading: run echo madvise > "
      "/sys/kernel/mm/transparent_hugepage/enabled";
  return finding;
}

Finding check_governor(const SystemFacts& facts) {
  Finding finding{FindingLevel::kOk, "clock", "the governor is unknown", ""};
  if (!facts.governor) return finding;
  finding.found = fmt::format("the governor is {}", *facts.governor);
  if (*facts.governor != "powersave" && *facts.governor != "conservative") return finding;
  finding.level = FindingLevel::kNote;
  finding.remedy = "cores may be slow to speed up: run cpupower frequency-set -g performance";
  return finding;
}

Finding check_memory(const Machine& machine, const SystemFacts& facts) {
  constexpr uint64_t kLittle = uint64_t{1} << 30;
  Finding finding{FindingLevel::kOk, "memory",
                  fmt::format("{} free", bytes_text(machine.memory_available)), ""};
  if (machine.memory_limit) {
    finding.found += fmt::format(", a cgroup's limit is {}", bytes_text(*machine.memory_limit));
  }
  if (facts.memlock) finding.found += fmt::format("; {} may be locked", bytes_text(*facts.memlock));
  if (machine.memory_available > 0 && machine.memory_available < kLittle) {
    finding.level = FindingLevel::kBad;
    finding.remedy = "few models fit into that: end programs that use memory, or raise the limit";
  }
  return finding;
}

}  // namespace

const char* finding_level_name(FindingLevel level) {
  switch (level) {
    case FindingLevel::kOk:
      return "ok";
    case FindingLevel::kNote:
      return "note";
    case FindingLevel::kBad:
      break;
  }
  return "bad";
}

SystemFacts read_system_facts() {
  SystemFacts facts;
  if (auto word = first_word("/proc/sys/kernel/numa_balancing"))
    facts.numa_balancing = *word != "0";
  facts.governor = first_word("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    facts.memlock = limit.rlim_cur;
  }
  int policy = 0;
  if (syscall(SYS_get_mempolicy, &policy, nullptr, 0UL, nullptr, 0UL) == 0) {
    facts.memory_policy = policy;
  }
  facts.channels = count_memory_channels("/sys/devices/system/edac/mc");
  return facts;
}

std::optional<uint32_t> count_memory_channels(const std::string& folder) {
  namespace fs = std::filesystem;
  std::set<std::string> channels;
  std::error_code error;
  for (const fs::directory_entry& controller : fs::directory_iterator(folder, error)) {
    std::error_code unreadable;
    for (const fs::directory_entry& module : fs::directory_iterator(controller, unreadable)) {
      // The file reads "channel 1 slot 0"; some drivers write more before these words.
      std::ifstream file(module.path() / "dimm_location");
      std::string word, channel;
      while (file >> word) {
        if (word == "channel") file >> channel;
      }
      const auto size = first_word((module.path() / "size").c_str());
      if (channel.empty() || !size || *size == "0") continue;
      channels.insert(controller.path().filename().string() + "/" + channel);
    }
  }
  if (channels.empty()) return std::nullopt;
  return static_cast<uint32_t>(channels.size());
}

std::vector<Finding> check_machine(const Machine& machine, const SystemFacts& facts) {
  return {check_quota(machine), check_nodes(machine, facts), check_huge_pages(machine),
          check_governor(facts), check_memory(machine, facts)};
}

}  // namespace hearth
