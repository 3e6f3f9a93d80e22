// The options that say who works where: --threads, --shards, --groups, --nodes, --cpus,
// --sync, --experts, --plan.
// Numbers of nodes and CPUs are the operating system's, as `hearth topo` shows them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/cli11.h"
#include "engine/engine.h"
#include "topology/machine.h"

namespace hearth {

// The most that --threads and --shards take.
inline constexpr uint32_t kMaxThreads = 4096, kMaxShards = 64;

// The value of --plan that asks for no plan of a file, nor one that `hearth tune` found.
inline constexpr const char* kNoPlan = "none";

// The user asked for these; 0 and empty: the default.
struct PlanArgs {
  uint32_t threads = 0;
  uint32_t shards = 0;
  std::vector<uint32_t> groups;  // of both phases, or of prefill and of decode
  std::vector<uint32_t> nodes;
  std::optional<std::string> cpus;  // "0-7,16"
  std::string experts = "auto";
  std::string sync = group_sync_name(GroupSync::kAsync);
  std::optional<std::string> file;  // a saved plan, in place of all of the above
  bool operator==(const PlanArgs&) const = default;
};

CLI::Option* add_threads(CLI::App& verb, PlanArgs* args);
// Adds the options of a plan but --threads, which is the verb's option `threads`.
void add_plan_options(CLI::App& verb, PlanArgs* args, CLI::Option* threads);

// Sets the options of an engine on `machine`. Throws (kUsage) for a node or CPU that it does not
// have and a file that is no plan of it, and what reading that file throws.
void set_plan(const Machine& machine, const PlanArgs& args, EngineOptions* options);

// The numbers of a list such as "0-3,8". Throws (kUsage), naming `option`.
std::vector<uint32_t> parse_ranges(std::string_view text, const char* option);

}  // namespace hearth
