#include "cli/bench_kernels.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/bytes_text.h"
#include "base/count_text.h"
#include "base/error.h"
#include "base/progress.h"
#include "base/tell.h"
#include "bench/kernel_bench.h"
#include "cli/load.h"
#include "cli/topo_machine.h"
#include "engine/engine.h"

namespace hearth {
namespace {

constexpr uint32_t kMaxRows = 1u << 14;

std::vector<WeightType> types_named(const std::vector<std::string>& names) {
  const std::vector<WeightType> all = weight_types();
  std::vector<WeightType> types;
  for (const std::string& name : names) {
    auto known = std::find_if(all.begin(), all.end(),
                              [&](const WeightType& type) { return type.name == name; });
    if (known == all.end()) {
      std::vector<std::string_view> choices;
      for (const WeightType& type : all) choices.push_back(type.name);
      fail(ErrorCode::kUsage, "--types '{}' is not a weight type: give one of {}", name,
           fmt::join(choices, ", "));
    }
    types.push_back(*known);
  }
  return types;
}

// Places the threads, all on the first usable node.
Placement place(const BenchSession& session, uint32_t threads) {
  EngineOptions options;
  set_plan(session.machine, session.args.engine.plan, &options);
  PlacementOptions where;
  where.policy = NodePolicy::kCompact;
  where.nodes = options.nodes;
  where.pus = options.pus;
  where.threads = threads;
  Placement placement = place_threads(session.machine, where);
  if (placement.by_node().size() > 1) {
    fail(ErrorCode::kUsage,
         "--kernels measures one NUMA node, and node {1} has fewer cores than the {0} threads "
         "asked for: lower -t, or choose a node with --nodes",
         threads, session.machine.nodes[placement.seats[0].node].os_index);
  }
  return placement;
}

// Returns the numbers of threads to measure: those that -t gives; by default one, and also two if
// the machine has that many.
std::vector<uint32_t> thread_counts(const BenchSession& session) {
  if (!session.args.threads.empty()) return session.args.threads;
  if (default_thread_count(session.machine) < 2) return {1};
  return {1, 2};
}

void print_team(const Machine& machine, const Placement& placement, const TeamLimits& limits) {
  std::vector<uint32_t> pus = placement.pus();
  std::sort(pus.begin(), pus.end());
  pus.erase(std::unique(pus.begin(), pus.end()), pus.end());
  const ReadBufferInfo& buffer = limits.buffer();
  print_stderr(
      "hearth: {} on node {}, CPUs {}; {} kernels\n"
      "hearth: the read limit is measured over {}, {} of it in huge pages\n",
      count_text(placement.seats.size(), "thread"), machine.nodes[placement.seats[0].node].os_index,
      ranges_text(pus), isa_name(limits.levels()[0].isa), bytes_text(buffer.bytes),
      bytes_text(buffer.huge_bytes));
}

void measure_team(BenchSession& session, const std::vector<MatrixShape>& shapes,
                  const Placement& placement, Contenders& contenders, const KernelHooks& hooks) {
  Isa isa = environment_isa(detect_cpu_features());
  contenders.sit(placement);
  Team team(placement, TeamOptions{.pin_caller = true});
  auto limits = make_limits(session, team, placement, {isa});
  if (session.args.engine.verbose) print_team(session.machine, placement, *limits);
  // Reads again how much memory is free, since measuring the limits took some of it.
  Machine machine = Machine::live();
  KernelBench bench(team, machine, placement.seats[0].node, *limits, contenders, hooks);
  session.report.isa = isa;
  BenchRun& run = session.report.runs.emplace_back();
  run.threads = team.size();
  for (const MatrixShape& shape : shapes) {
    if (session.interrupted()) break;
    for (KernelResult& result :
         bench.run(shape, session.args.kernel_rows, session.args.repetitions)) {
      run.kernels.push_back(std::move(result));
    }
  }
  run.buffer = limits->buffer();
  run.limits = limits->levels();
}

}  // namespace

void add_kernel_options(CLI::App& verb, BenchArgs* args, const std::vector<CLI::Option*>& others) {
  CLI::Option* kernels =
      verb.add_flag("--kernels", args->kernels, "Measure only the matrix products of the model");
  for (CLI::Option* other : others) kernels->excludes(other);
  for (CLI::Option* option : add_product_options(verb, args)) {
    option->needs(kernels)->description("With --kernels: " + option->get_description());
  }
}

std::vector<CLI::Option*> add_product_options(CLI::App& verb, BenchArgs* args) {
  return {
      add_counts(verb, "-m,--rows", &args->kernel_rows, 1, kMaxRows, "numbers of activation rows")
          ->default_str("1,4,16,64,512"),
      verb.add_option("--types", args->kernel_types,
                      "weight types, such as q8_0,bf16,fp8; default: those in the file")
          ->delimiter(',')
          ->allow_extra_args(false)
          ->type_name("NAME,...")};
}

void measure_kernels(BenchSession& session, Contenders& contenders) {
  const BenchArgs& args = session.args;
  std::vector<WeightType> types = types_named(args.kernel_types);
  OpenedModel model = open_named_model(args.model, {}, args.engine, TokenizerUse::kNone);
  std::vector<MatrixShape> shapes = matrix_shapes(model.spec, types);
  session.report.model = describe_for_bench(model);
  session.report.measured = Measured::kKernels;
  session.report.contenders = contenders.names();
  std::vector<Placement> placements;
  for (uint32_t threads : thread_counts(session)) placements.push_back(place(session, threads));
  uint64_t done = 0;
  Progress progress("kernels",
                    placements.size() * shapes.size() * args.kernel_rows.size() * args.repetitions,
                    [](uint64_t n) { return fmt::format("{} measurements", n); });
  KernelHooks hooks;
  hooks.interrupted = [&] { return session.interrupted(); };
  hooks.progress = [&](std::string_view doing) { progress.update(++done, doing); };
  for (const Placement& placement : placements) {
    // The progress line is wiped, since permanent lines may follow.
    progress.finish();
    if (!session.interrupted()) measure_team(session, shapes, placement, contenders, hooks);
  }
}

}  // namespace hearth
