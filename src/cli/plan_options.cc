#include "cli/plan_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/number_list.h"
#include "cli/options.h"
#include "cli/text_io.h"

namespace hearth {
namespace {

// The limit on a CPU's number, above every number that a system gives one: it bounds the length of
// a range.
constexpr uint32_t kMaxNumber = 1u << 16;

uint32_t node_index(const Machine& machine, uint32_t os_index) {
  if (std::optional<uint32_t> node = machine.node_numbered(os_index)) return *node;
  std::vector<uint32_t> known;
  for (const NumaNode& node : machine.nodes) known.push_back(node.os_index);
  fail(ErrorCode::kUsage, "--nodes {}: there is no such NUMA node; this machine has {}", os_index,
       fmt::join(known, ", "));
}

}  // namespace

std::vector<uint32_t> parse_ranges(std::string_view text, const char* option) {
  std::optional<std::vector<uint32_t>> numbers = parse_number_list(text, ',', kMaxNumber);
  if (!numbers) {
    fail(ErrorCode::kUsage, "{} '{}' is no list of numbers such as 0-3,8", option, text);
  }
  return *std::move(numbers);
}

CLI::Option* add_threads(CLI::App& verb, PlanArgs* args) {
  return add_count(verb, "-t,--threads", &args->threads, 1, kMaxThreads,
                   "Threads; default: one per core that may be used, less one from 8 cores up");
}

void add_plan_options(CLI::App& verb, PlanArgs* args, CLI::Option* threads) {
  std::vector<CLI::Option*> parts{
      threads,
      add_count(verb, "--shards", &args->shards, 1, kMaxShards,
                "Memory nodes to cut the weights over; default: all that have threads"),
      add_counts(verb, "--groups", &args->groups, 1, kMaxThreads,
                 "Groups of threads, or of prefill and of decode as in 2,4; default: as many as "
                 "shards")
          ->expected(1, 2)
          ->type_name("N[,N]"),
      add_counts(verb, "--nodes", &args->nodes, 0, kMaxNumber,
                 "Only the threads of these NUMA nodes; default: all"),
      add_text(verb, "--cpus", &args->cpus, "LIST",
               "Only these CPUs, as in 0-7,16; default: all that may be used"),
      add_choice(verb, "--sync", &args->sync,
                 {group_sync_name(GroupSync::kAsync), group_sync_name(GroupSync::kLockstep)},
                 "How groups wait for each other: at sums alone, or after every operation"),
      add_choice(
          verb, "--experts", &args->experts,
          {"auto", expert_cut_name(ExpertCut::kCut), expert_cut_name(ExpertCut::kSpread)},
          "How experts lie on several nodes: each cut over all, or whole and dealt out; auto: "
          "as is predicted to be faster")};
  CLI::Option* plan = add_text(
      verb, "--plan", &args->file, "FILE",
      "Work by the plan in FILE, which `hearth topo --write-plan FILE` makes; none: nor by one "
      "that `hearth tune` found");
  for (CLI::Option* part : parts) plan->excludes(part);
}

void set_plan(const Machine& machine, const PlanArgs& args, EngineOptions* options) {
  if (args.file == kNoPlan) {
    options->tuned = TunedUse::kNever;
    return;
  }
  if (args.file) {
    options->plan = parse_engine_plan(read_text(*args.file), machine);
    return;
  }
  options->threads = args.threads;
  options->shards = args.shards;
  if (!args.groups.empty()) {
    options->prefill_groups = args.groups.front();
    options->decode_groups = args.groups.back();
  }
  options->sync =
      args.sync == group_sync_name(GroupSync::kLockstep) ? GroupSync::kLockstep : GroupSync::kAsync;
  options->experts = expert_cut_named(args.experts);
  for (uint32_t node : args.nodes) options->nodes.push_back(node_index(machine, node));
  if (args.cpus) options->pus = parse_ranges(*args.cpus, "--cpus");
}

}  // namespace hearth
