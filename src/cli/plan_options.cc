#include "cli/plan_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/number_list.h"
#include "cli/options.h"
#include "cli/text_io.h"

namespace hearth {
namespace {

// An upper bound of CPU numbers, above any that a system has; it bounds the length of a range.
constexpr uint32_t kMaxNumber = 1u << 16;

uint32_t node_index(const Machine& machine, uint32_t os_index) {
  if (std::optional<uint32_t> node = machine.node_numbered(os_index)) return *node;
  std::vector<uint32_t> known;
  for (const NumaNode& node : machine.nodes) known.push_back(node.os_index);
  fail(ErrorCode::kUsage, "--nodes {}: this machine has no such NUMA node; it has {}", os_index,
       fmt::join(known, ", "));
}

}  // namespace

std::vector<uint32_t> parse_ranges(std::string_view text, const char* option) {
  std::optional<std::vector<uint32_t>> numbers = parse_number_list(text, ',', kMaxNumber);
  if (!numbers) {
    fail(ErrorCode::kUsage, "{} '{}' is not a list of numbers such as 0-3,8", option, text);
  }
  return *std::move(numbers);
}

CLI::Option* add_threads(CLI::App& verb, PlanArgs* args) {
  return add_count(verb, "-t,--threads", &args->threads, 1, kMaxThreads,
                   "Threads; default: one per allowed core, and from 8 cores up one less");
}

void add_plan_options(CLI::App& verb, PlanArgs* args, CLI::Option* threads) {
  std::vector<CLI::Option*> parts{
      threads,
      add_count(verb, "--shards", &args->shards, 1, kMaxShards,
                "NUMA nodes to split the weights over; default: all that have threads"),
      add_counts(
          verb, "--groups", &args->groups, 1, kMaxThreads,
          "Thread groups, or those of prefill and decode as in 2,4; default: as many as shards")
          ->expected(1, 2)
          ->type_name("N[,N]"),
      add_counts(verb, "--nodes", &args->nodes, 0, kMaxNumber,
                 "Use only threads on these NUMA nodes; default: all"),
      add_text(verb, "--cpus", &args->cpus, "LIST",
               "Use only these CPUs, as in 0-7,16; default: all that are allowed"),
      add_choice(verb, "--sync", &args->sync,
                 {group_sync_name(GroupSync::kAsync), group_sync_name(GroupSync::kLockstep)},
                 "When thread groups wait for each other: async, only where they sum results; "
                 "lockstep, after every operation. One of"),
      add_choice(verb, "--experts", &args->experts,
                 {"auto", expert_cut_name(ExpertCut::kCut), expert_cut_name(ExpertCut::kSpread)},
                 "How experts are placed on several NUMA nodes: cut, each split over all; spread, "
                 "each whole on one node; auto, whichever is predicted to be faster. One of")};
  CLI::Option* plan = add_text(verb, "--plan", &args->file, "FILE",
                               "Use the plan in FILE (see `hearth topo --write-plan FILE`); none: "
                               "ignore plans of `hearth tune`, too");
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
