// hearth gpu: lists the accelerators of this machine, says why one cannot be used, checks that its
// results have the right bits, and measures it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <span>

#include "accelerator/accelerator_file.h"
#include "accelerator/check_kernels.h"
#include "accelerator/find_accelerators.h"
#include "accelerator/measure_accelerator.h"
#include "base/atomic_file.h"
#include "base/error.h"
#include "base/json.h"
#include "base/printable.h"
#include "base/progress.h"
#include "cli/gpu_report.h"
#include "cli/load.h"
#include "cli/options.h"
#include "cli/program.h"
#include "cli/text_io.h"

namespace hearth {
namespace {

struct GpuArgs {
  std::string name;
  bool check = false, bench = false, json = false;
  std::string only;
  uint32_t seed = 1;
  uint32_t seconds = 10;
  std::optional<std::string> save, describe;
};

int list(const FoundAccelerators& found, const GpuArgs& args) {
  if (args.json) {
    Json json;
    json.object().key("accelerators").array();
    for (const FoundAccelerator& one : found.all) {
      json.object();
      json_facts(json, one.facts);
      json.key("refused").text(one.refused).end_object();
    }
    json.end_array().key("why_none").text(found.why_none);
    write_stdout(json.end_object().line());
    return 0;
  }
  if (found.all.empty()) write_stdout(found.why_none + "\n");
  for (const FoundAccelerator& one : found.all) write_stdout(facts_text(one.facts, one.refused));
  return 0;
}

std::string check_text(const KernelCheck& check) {
  std::string text = fmt::format("  {:<24}", check.contract);
  if (!check.refused.empty()) return text + "not computed: " + check.refused + "\n";
  if (check.differ == 0) {
    return text + fmt::format("same bits: {} values of {} calls\n", check.values, check.calls);
  }
  return text + fmt::format("WRONG: {} of {} values of {} calls; {}\n", check.differ, check.values,
                            check.calls, check.first);
}

void check_json(Json& json, const KernelCheck& check) {
  json.object().key("contract").text(check.contract).key("calls").number(check.calls);
  json.key("values").number(check.values).key("differ").number(check.differ);
  json.key("first").text(check.first).key("refused").text(check.refused);
  json.key("seconds").real(check.seconds).end_object();
}

// Checks the accelerator's results; returns 1 where any is wrong.
int check(const FoundAccelerators& found, const GpuArgs& args) {
  const FoundAccelerator& chosen = choose_accelerator(found, args.name);
  std::unique_ptr<Accelerator> accelerator = chosen.open();
  Json json;
  json.object();
  json_facts(json, accelerator->facts());
  json.key("refused").text(chosen.refused).key("seed").number(args.seed).key("contracts").array();
  const std::string head =
      facts_text(accelerator->facts(), {}) +
      fmt::format("every shader beside the reference kernels, --seed {}:\n", args.seed);
  size_t contracts = 0, good = 0;
  check_kernels(*accelerator, {.seed = args.seed, .only = args.only},
                [&](const KernelCheck& check) {
                  if (!args.json && contracts == 0) write_stdout(head);
                  ++contracts;
                  good += check.good() ? 1 : 0;
                  check_json(json, check);
                  if (!args.json) write_stdout(check_text(check));
                });
  if (contracts == 0) {
    fail(ErrorCode::kUsage,
         "--only {}: no kernel has this in its name; `hearth gpu --check` lists them", args.only);
  }
  if (args.json) {
    json.end_array().key("good").boolean(good == contracts);
    write_stdout(json.end_object().line());
  } else {
    write_stdout(fmt::format("{} of {} contracts hold\n", good, contracts));
  }
  return good == contracts ? 0 : 1;
}

void print_measured(const MeasuredAccelerator& measured, bool as_json) {
  if (!as_json) {
    write_stdout(facts_text(measured.facts, {}) + "\n" + rates_text(measured.rates));
    return;
  }
  Json json;
  json_accelerator(json, measured);
  write_stdout(json.line());
}

void save_measured(AtomicFile& file, const MeasuredAccelerator& measured) {
  Json json;
  json_accelerator(json, measured);
  const std::string line = json.line();
  file.write(std::as_bytes(std::span(line)));
  file.commit();
}

int bench_gpu(const FoundAccelerators& found, const GpuArgs& args) {
  const FoundAccelerator& chosen = choose_accelerator(found, args.name);
  std::optional<AtomicFile> file;
  if (args.save) file.emplace(*args.save);
  std::unique_ptr<Accelerator> accelerator = chosen.open();
  MeasuredAccelerator measured{accelerator->facts(), {}};
  std::optional<Progress> progress;
  const auto report = [&](uint32_t done, uint32_t total) {
    auto parts = [](uint64_t n) { return fmt::format("{} rates", n); };
    if (!progress) progress.emplace("measuring", total, parts);
    progress->update(done);
  };
  const auto seconds = static_cast<double>(args.seconds);
  measured.rates = measure_accelerator(*accelerator, {.seconds = seconds, .report = report});
  progress.reset();
  if (file) save_measured(*file, measured);
  print_measured(measured, args.json);
  return 0;
}

int gpu(const GpuArgs& args) {
  if (args.describe) {
    print_measured(read_accelerator(*args.describe), args.json);
    return 0;
  }
  if (!args.name.empty() && !args.check && !args.bench) {
    fail(ErrorCode::kUsage, "the name '{}' works only with --check or --bench: give one of them",
         printable(args.name));
  }
  const FoundAccelerators found = find_accelerators();
  if (args.bench) return bench_gpu(found, args);
  return args.check ? check(found, args) : list(found, args);
}

void add_benching(CLI::App& verb, GpuArgs* args, CLI::Option* checks) {
  CLI::Option* benches =
      verb.add_flag("--bench", args->bench, "Measure link, memory, matrix products and submissions")
          ->excludes(checks);
  add_count(verb, "--seconds", &args->seconds, 1, 600,
            "With --bench: about how long to measure on a slow GPU")
      ->capture_default_str()
      ->needs(benches);
  add_text(verb, "--save", &args->save, "FILE",
           "With --bench: write a description of the GPU and its speed to FILE")
      ->needs(benches);
  add_text(verb, "--describe", &args->describe, "FILE",
           "Show the GPU that a file of --save describes, instead of this machine's")
      ->excludes(checks)
      ->excludes(benches)
      ->excludes("NAME");
}

}  // namespace

void add_gpu(CLI::App& program, Action& action) {
  CLI::App& verb = *program.add_subcommand("gpu", "Show, check and measure GPUs");
  auto args = std::make_shared<GpuArgs>();
  CLI::Option* checks =
      verb.add_flag("--check", args->check,
                    "Compare every shader with the reference kernels, bit by bit, on random and "
                    "extreme values; exit status 1 if any differs");
  verb.add_option("NAME", args->name,
                  "With --check or --bench: the GPU whose name contains this, in any case; "
                  "default: the first discrete one. Software drivers are used only when named");
  verb.add_option("--only", args->only, "With --check: only the kernels whose names contain this")
      ->type_name("TEXT")
      ->needs(checks);
  add_count(verb, "--seed", &args->seed, 0, UINT32_MAX, "With --check: random seed of the values")
      ->capture_default_str()
      ->needs(checks);
  add_benching(verb, args.get(), checks);
  verb.add_flag("--json", args->json, "Print one JSON object");
  add_examples(verb,
               "  hearth gpu\n"
               "  hearth gpu --check\n"
               "  hearth gpu llvmpipe --check --only 'gemm q'\n"
               "  hearth gpu --check --json > report.json\n"
               "  hearth gpu --bench --save gpu.json\n"
               "  hearth gpu --describe gpu.json");
  verb.callback([args, &action] { action = [args] { return gpu(*args); }; });
}

}  // namespace hearth
