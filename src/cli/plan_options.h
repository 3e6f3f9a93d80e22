// Options that place an engine's threads and weights: --threads, --shards, --groups, --nodes,
// --cpus, --sync, --experts, --plan. Numbers of nodes and CPUs are the operating system's, as
// `hearth topo` shows them.
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

// The highest values of --threads and --shards.
inline constexpr uint32_t kMaxThreads = 4096, kMaxShards = 64;

// The value of --plan that ignores plans of files and plans that `hearth tune` stored.
inline constexpr const char* kNoPlan = "none";

// A user's choices; 0 and empty: the default.
struct PlanArgs {
  uint32_t threads = 0;
  uint32_t shards = 0;
  std::vector<uint32_t> groups;  // one number for both phases, or prefill's and decode's
  std::vector<uint32_t> nodes;
  std::optional<std::string> cpus;  // "0-7,16"
  std::string experts = "auto";
  std::string sync = group_sync_name(GroupSync::kAsync);
  std::optional<std::string> file;  // a saved plan, which replaces all of the above
  bool operator==(const PlanArgs&) const = default;
};

CLI::Option* add_threads(CLI::App& verb, PlanArgs* args);
// Adds the options of a plan, except --threads, which the verb has already, as `threads`.
void add_plan_options(CLI::App& verb, PlanArgs* args, CLI::Option* threads);

// Sets an engine's options for `machine`. Throws (kUsage) for a node or CPU that the machine lacks
// and for a plan of another machine, and the errors of reading the plan's file.
void set_plan(const Machine& machine, const PlanArgs& args, EngineOptions* options);

// Returns the numbers of a list such as "0-3,8". Throws (kUsage), naming `option`.
std::vector<uint32_t> parse_ranges(std::string_view text, const char* option);

}  // namespace hearth
