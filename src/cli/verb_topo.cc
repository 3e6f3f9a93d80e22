// hearth topo: the machine as this program sees it, and what it would do on it.
#include <fmt/format.h>

#include <memory>

#include "cli/json.h"
#include "cli/options.h"
#include "cli/text_io.h"
#include "cli/topo_bandwidth.h"
#include "cli/topo_machine.h"
#include "cli/topo_plan.h"
#include "cli/verbs.h"

namespace hearth {
namespace {

struct TopoArgs {
  std::optional<std::string> machine;
  PlanArgs plan;
  bool bandwidth = false;
  std::optional<std::string> out, table;
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

// Everything that is found before a word is printed.
struct Findings {
  Machine machine;
  EnginePlan plan;
  std::optional<BandwidthTable> bandwidth;
};

Findings find_all(const TopoArgs& args) {
  Findings found{find_machine(args), {}, {}};
  found.plan = plan_for(found.machine, args.plan);
  if (args.table) {
    found.bandwidth = parse_bandwidth(read_text(*args.table), *args.table);
    check_bandwidth(*found.bandwidth, found.machine);
  } else if (args.bandwidth) {
    std::unique_ptr<AtomicFile> file;
    if (args.out) file = std::make_unique<AtomicFile>(*args.out);
    found.bandwidth = measure_with_progress(found.machine);
    if (file) write_bandwidth(*file, found.machine, *found.bandwidth);
  }
  return found;
}

int topo(const TopoArgs& args) {
  Findings found = find_all(args);
  if (args.json) {
    Json json;
    json.object();
    json_machine(json, found.machine);
    json_plan(json, found.machine, found.plan);
    if (found.bandwidth) json_bandwidth(json.key("bandwidth"), found.machine, *found.bandwidth);
    write_stdout(json.end_object().line());
    return 0;
  }
  std::string out = machine_text(found.machine) + "\n" + plan_tree_text(found.machine, found.plan);
  if (found.bandwidth) out += "\n" + bandwidth_text(*found.bandwidth);
  write_stdout(out);
  return 0;
}

void add_measuring(CLI::App& verb, const std::shared_ptr<TopoArgs>& args) {
  CLI::Option* measure = verb.add_flag("--bandwidth", args->bandwidth,
                                       "Measure how fast each node reads the memory of each");
  verb.add_option_function<std::string>(
          "-o,--output", [args](const std::string& path) { args->out = path; },
          "Write the measured table to FILE")
      ->type_name("FILE")
      ->needs(measure);
  verb.add_option_function<std::string>(
          "--bandwidth-table", [args](const std::string& path) { args->table = path; },
          "Take the table from FILE instead of measuring")
      ->type_name("FILE")
      ->excludes(measure);
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
  add_measuring(verb, args);
  verb.add_flag("--json", args->json, "Print one JSON object");
  add_examples(verb,
               "  hearth topo\n"
               "  hearth topo --machine server.xml --groups 2\n"
               "  hearth topo --machine 'synthetic pack:2 numa:2 l3:1 core:8 pu:2' --json\n"
               "  hearth topo --bandwidth -o server-bandwidth.json");
  verb.callback([args, &action] { action = [args] { return topo(*args); }; });
}

}  // namespace hearth
