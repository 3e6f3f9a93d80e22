#include "cli/device_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>

#include "cli/load.h"
#include "cli/topo_machine.h"

namespace hearth {

double parse_seconds(const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || !std::isfinite(value) || value <= 0) return 0;
  std::string_view unit(stop, static_cast<size_t>(end - stop));
  if (unit == "ms") return value / 1000;
  return unit.empty() || unit == "s" ? value : 0;
}

namespace {

constexpr uint32_t kMaxHostCores = 1u << 16;

void add_dispatch_options(CLI::App& verb, DeviceArgs* args) {
  auto is_seconds = [](std::string& input) -> std::string {
    double seconds = parse_seconds(input);
    if (seconds == 0) return fmt::format("'{}' is not a time such as 1s or 500ms", input);
    input = fmt::format("{}", seconds);
    return {};
  };
  verb.add_option("--slo", args->slo,
                  "Time objective for each text, such as 1s or 500ms: devices are measured first, "
                  "and accept only what they can finish in time")
      ->transform(CLI::Validator(is_seconds, ""))
      ->type_name("TIME");
  add_choice(verb, "--admission", &args->admission, {"deadline", "depth"},
             "With --slo: accept a text by its predicted end or by the queue's depth");
  auto is_time = [is_seconds](std::string& input) -> std::string {
    if (input == "0" || input == "0s" || input == "0ms") {
      input = "0";
      return {};
    }
    return is_seconds(input);
  };
  verb.add_option("--gather", args->gather,
                  "With --slo: how long an idle device waits for more texts before it starts; at "
                  "most 2 % of the objective; default: 20ms; 0: no wait")
      ->transform(CLI::Validator(is_time, ""))
      ->type_name("TIME");
  verb.add_option(
          "--host-cores", args->host_cores,
          "With --offload: CPU cores reserved for driving the accelerators; default: a quarter")
      ->check(CLI::Range(0u, kMaxHostCores))
      ->type_name("N");
}

}  // namespace

void add_device_options(CLI::App& verb, DeviceArgs* args) {
  verb.add_option(
          "--device", args->devices,
          "Device that computes, repeated for several: cpu, cpu:nodes=0-1+3,threads=8, gpu, "
          "gpu:NAME (see `hearth gpu`), http://host:port/v1,model=NAME,key=VARIABLE (a server with "
          "OpenAI's API and the same model), sim:alpha=0.018,beta=0.27; default: cpu")
      ->allow_extra_args(false)
      ->type_name("SPEC");
  verb.add_flag("--offload", args->offload,
                "Use CPUs for what accelerators cannot take; without it, CPUs are idle if there is "
                "an accelerator");
  verb.add_flag("--list-devices", args->list, "Show which devices are used, and why, then exit");
  add_dispatch_options(verb, args);
  add_choice(verb, "--pools", &args->pools, {"auto", "nodes", "one"},
             "Copies of the model on several NUMA nodes: one per node (nodes), one for all (one), "
             "or whichever is measured to be faster (auto). One of");
}

std::string host_cores_text(const DeviceReport& report) {
  if (report.host_cores == 0) return {};
  return fmt::format("; {} {} reserved for accelerators", report.host_cores,
                     report.host_cores == 1 ? "core is" : "cores are");
}

SetupOptions setup_options(const Machine& machine, const DeviceArgs& args, const EngineArgs& engine,
                           const EngineOptions& options, const EmbedOptions& embed) {
  SetupOptions setup;
  setup.devices = args.devices;
  setup.offload = args.offload;
  setup.slo = args.slo;
  setup.host_cores = args.host_cores;
  setup.pools.embed = embed;
  setup.pools.engine = options;
  EngineOptions& own = setup.pools.engine;
  set_engine(machine, engine, &own);
  setup.pools.where.threads = own.threads;
  setup.pools.where.nodes = own.nodes;
  setup.pools.where.pus = own.pus;
  // Options that split an engine (a plan, shards, groups) need a single pool with one engine.
  bool cut = own.plan || own.shards != 0 || own.prefill_groups != 0;
  if (args.pools == "nodes") {
    setup.pools.split = PoolSplit::kNodes;
  } else if (args.pools == "one" || cut) {
    setup.pools.split = PoolSplit::kOne;
  }
  return setup;
}

DispatchOptions dispatch_options(const DeviceArgs& args) {
  DispatchOptions options;
  options.slo = args.slo;
  options.gather = args.gather.value_or(options.gather);
  options.admission = args.admission == "depth" ? Admission::kDepth : Admission::kDeadline;
  return options;
}

std::string device_table(const std::vector<DeviceReport>& reports) {
  size_t widest = 6;
  for (const DeviceReport& report : reports) widest = std::max(widest, report.name.size());
  std::string text =
      fmt::format("{:{}}  {:11}  {:5}  {}\n", "device", widest, "kind", "queue", "why");
  for (const DeviceReport& report : reports) {
    std::string why = report.why;
    if (!report.bits.empty()) why += "; " + report.bits;
    if (!report.pus.empty()) why += fmt::format("; CPUs {}", ranges_text(report.pus));
    why += host_cores_text(report);
    if (report.line.alpha > 0) {
      why += fmt::format("; {:.3g} s a text of {} tokens and {:.3g} s a batch, {} within the time",
                         report.line.alpha * kProbeTokens, kProbeTokens, report.line.beta,
                         report.depth);
    }
    text += fmt::format("{:{}}  {:11}  {:5}  {}\n", report.name, widest,
                        device_kind_name(report.kind), report.queue ? "yes" : "no", why);
  }
  return text;
}

}  // namespace hearth
