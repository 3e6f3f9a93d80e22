// hearth topo: the machine as this program sees it, and what it would do on it.
#include <fmt/format.h>

#include <memory>

#include "cli/json.h"
#include "cli/options.h"
#include "cli/text_io.h"
#include "cli/topo_machine.h"
#include "cli/topo_plan.h"
#include "cli/verbs.h"

namespace hearth {
namespace {

struct TopoArgs {
  std::optional<std::string> machine;
  PlanArgs plan;
  bool json = false;
};

Machine find_machine(const TopoArgs& args) {
  if (!args.machine) return Machine::live();
  constexpr std::string_view kSynthetic = "synthetic ";
  if (args.machine->starts_with(kSynthetic)) {
    return Machine::from_synthetic(args.machine->substr(kSynthetic.size()));
  }
  return Machine::from_xml(*args.machine);
}

int topo(const TopoArgs& args) {
  Machine machine = find_machine(args);
  EnginePlan plan = plan_for(machine, args.plan);
  if (args.json) {
    Json json;
    json.object();
    json_machine(json, machine);
    json_plan(json, machine, plan);
    write_stdout(json.end_object().line());
    return 0;
  }
  write_stdout(machine_text(machine) + "\n" + plan_tree_text(machine, plan));
  return 0;
}

}  // namespace

void add_topo(CLI::App& program, Action& action) {
  CLI::App& verb = *program.add_subcommand(
      "topo", "Show the machine: nodes, caches, cores, limits, and who would work where");
  auto args = std::make_shared<TopoArgs>();
  auto set = [args](const std::string& text) { args->machine = text; };
  verb.add_option_function<std::string>(
          "--machine", set, "Another machine: hwloc's XML file, or 'synthetic DESCRIPTION'")
      ->type_name("MACHINE");
  add_count(verb, "-t,--threads", &args->plan.threads, 1, kMaxThreads,
            "Threads; default: one per core that may be used");
  add_count(verb, "--shards", &args->plan.shards, 1, kMaxShards,
            "Memory nodes to cut the weights over; default: all that have threads");
  add_count(verb, "--groups", &args->plan.groups, 1, kMaxThreads,
            "Groups of threads; default: as many as shards");
  verb.add_flag("--json", args->json, "Print one JSON object");
  add_examples(verb,
               "  hearth topo\n"
               "  hearth topo --machine server.xml --groups 2\n"
               "  hearth topo --machine 'synthetic pack:2 numa:2 l3:1 core:8 pu:2' --json");
  verb.callback([args, &action] { action = [args] { return topo(*args); }; });
}

}  // namespace hearth
