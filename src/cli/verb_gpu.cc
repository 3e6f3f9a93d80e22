// hearth gpu: the accelerators of this machine, what each lacks, and whether it gives the right
// bits.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "accelerator/check_kernels.h"
#include "accelerator/find_accelerators.h"
#include "base/bytes_text.h"
#include "base/error.h"
#include "base/json.h"
#include "cli/options.h"
#include "cli/program.h"
#include "cli/text_io.h"

namespace hearth {
namespace {

struct GpuArgs {
  std::string name;
  bool check = false, json = false;
  std::string only;
  uint32_t seed = 1;
};

std::string memory_text(const AcceleratorFacts& facts) {
  std::string text = bytes_text(facts.memory_bytes);
  if (facts.free_bytes != 0) text += fmt::format(", {} free", bytes_text(facts.free_bytes));
  return text;
}

std::string queues_text(const AcceleratorFacts& facts) {
  size_t copies = 0;
  for (const QueueFacts& queue : facts.queues) copies += queue.computes ? 0 : 1;
  return fmt::format("{} that compute, {} for copies alone", facts.queues.size() - copies, copies);
}

std::string facts_text(const AcceleratorFacts& facts, const std::string& refused) {
  std::string text = fmt::format("{}\n", facts.name);
  auto line = [&](const char* what, const std::string& value) {
    if (!value.empty()) text += fmt::format("  {:<12}{}\n", what, value);
  };
  line("kind", accelerator_kind_name(facts.kind));
  line("driver", fmt::format("{}, {}", facts.driver, facts.api));
  line("memory", memory_text(facts));
  if (!facts.queues.empty()) line("queues", queues_text(facts));
  line("arithmetic", facts.arithmetic);
  for (const Lack& lack : facts.lacks) line("lacks", fmt::format("{}: {}", lack.what, lack.cost));
  line("cannot", refused);
  return text;
}

void facts_json(Json& json, const AcceleratorFacts& facts, const std::string& refused) {
  json.key("name").text(facts.name).key("kind").text(accelerator_kind_name(facts.kind));
  json.key("driver").text(facts.driver).key("api").text(facts.api);
  json.key("memory_bytes").number(facts.memory_bytes);
  json.key("free_bytes").number(facts.free_bytes);
  json.key("allocation_bytes").number(facts.allocation_bytes);
  json.key("import_alignment").number(facts.import_alignment);
  json.key("queues").array();
  for (const QueueFacts& queue : facts.queues) {
    json.object().key("computes").boolean(queue.computes).end_object();
  }
  json.end_array().key("arithmetic").text(facts.arithmetic).key("lacks").array();
  for (const Lack& lack : facts.lacks) {
    json.object().key("what").text(lack.what).key("cost").text(lack.cost).end_object();
  }
  json.end_array().key("refused").text(refused);
}

int list(const FoundAccelerators& found, const GpuArgs& args) {
  if (args.json) {
    Json json;
    json.object().key("accelerators").array();
    for (const FoundAccelerator& one : found.all) {
      json.object();
      facts_json(json, one.facts, one.refused);
      json.end_object();
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
  std::string text = fmt::format("  {:<18}", check.contract);
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

// Returns 1 where any contract is not held.
int check(const FoundAccelerators& found, const GpuArgs& args) {
  const FoundAccelerator& chosen = choose_accelerator(found, args.name);
  std::unique_ptr<Accelerator> accelerator = chosen.open();
  Json json;
  json.object();
  facts_json(json, accelerator->facts(), chosen.refused);
  json.key("seed").number(args.seed).key("contracts").array();
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
    fail(ErrorCode::kUsage, "no contract has '{}' in its name; `hearth gpu --check` lists them",
         args.only);
  }
  if (args.json) {
    json.end_array().key("good").boolean(good == contracts);
    write_stdout(json.end_object().line());
  } else {
    write_stdout(fmt::format("{} of {} contracts hold\n", good, contracts));
  }
  return good == contracts ? 0 : 1;
}

int gpu(const GpuArgs& args) {
  const FoundAccelerators found = find_accelerators();
  return args.check ? check(found, args) : list(found, args);
}

}  // namespace

void add_gpu(CLI::App& program, Action& action) {
  CLI::App& verb = *program.add_subcommand(
      "gpu", "Show the GPUs: driver, memory, what each lacks, and whether it computes right");
  auto args = std::make_shared<GpuArgs>();
  CLI::Option* checks = verb.add_flag(
      "--check", args->check,
      "Hold every shader against the reference kernels, bit by bit, on random and hostile values; "
      "exit status 1 where any differs");
  verb.add_option("NAME", args->name,
                  "With --check: the GPU whose name holds this, in letters of any case; default: "
                  "the first discrete one. Drivers that are software answer to their name alone")
      ->needs(checks);
  verb.add_option("--only", args->only, "With --check: the contracts whose names hold this")
      ->type_name("TEXT")
      ->needs(checks);
  add_count(verb, "--seed", &args->seed, 0, UINT32_MAX,
            "With --check: what the values are drawn from")
      ->capture_default_str()
      ->needs(checks);
  verb.add_flag("--json", args->json, "Print one JSON object");
  add_examples(verb,
               "  hearth gpu\n"
               "  hearth gpu --check\n"
               "  hearth gpu llvmpipe --check --only 'gemm q'\n"
               "  hearth gpu --check --json > report.json");
  verb.callback([args, &action] { action = [args] { return gpu(*args); }; });
}

}  // namespace hearth
