// hearth tune: finds the fastest plan of each phase, and the fastest schedule of each product, for
// a model on this machine, and stores them for the other verbs.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/progress.h"
#include "cli/interrupts.h"
#include "cli/load.h"
#include "cli/model_names.h"
#include "cli/options.h"
#include "cli/program.h"
#include "cli/text_io.h"
#include "cli/topo_bandwidth.h"
#include "cli/topo_machine.h"
#include "cli/tune_args.h"
#include "cli/tune_report.h"
#include "cost/bandwidth_file.h"
#include "engine/open_model.h"
#include "kernels/processor_schedules.h"
#include "topology/processor.h"
#include "tune/tuning.h"

namespace hearth {
namespace {

struct TuneArgs {
  std::string model;
  std::string only, budget = "10m";
  std::optional<std::string> trace, machine, table;
  uint32_t threads = 0;  // 0: all cores but one
  uint32_t candidates = TuningOptions{}.candidates;
  bool fresh = false, json = false, verbose = false;
  bool list = false, show = false, remove = false, exported = false;
};

TuneCases cases_of(const TuneArgs& args) {
  if (!args.trace) return {};
  return cases_of_trace(read_text(*args.trace));
}

Isa isa_here() { return environment_isa(detect_cpu_features()); }

OpenedModel open_shape(const TuneArgs& args) {
  if (args.model.empty()) fail(ErrorCode::kUsage, "tune needs a MODEL, or --list");
  return open_named_model(args.model, {}, args.verbose, TokenizerUse::kNone, ModelUse::kShape);
}

// Prints the result; returns the exit status. `kernels`: whether kernels were tuned, too.
int print_tuned(const TuneArgs& args, const TuningResult& result, bool kernels) {
  if (args.json) {
    write_stdout(outcomes_json(result, kernels));
    return 0;
  }
  std::string text = outcomes_text(result.outcomes);
  if (kernels) {
    text += kernels_text(result.tuned, args.verbose) + doubt_text(result.kernels, "schedule");
  }
  write_stdout(text + (result.path.empty() ? "" : fmt::format("saved in {}\n", result.path)));
  return 0;
}

BandwidthTable read_table(const std::string& path, const Machine& machine) {
  BandwidthTable table = parse_bandwidth(read_text(path), path);
  check_bandwidth(table, machine);
  return table;
}

// Predicts for another machine by the cost model, and stores nothing.
int predict_only(const TuneArgs& args) {
  const OpenedModel model = open_shape(args);
  const Machine machine = named_machine(*args.machine);
  const BandwidthTable table =
      args.table ? read_table(*args.table, machine) : assumed_bandwidth(machine);
  TuningResult result;
  result.outcomes = predict_tuning(model.spec, machine, table, cases_of(args), args.threads);
  if (!args.table) {
    print_note(
        "that machine's bandwidth is not known, so 100 GB/s a node is assumed; measure it there "
        "with `hearth topo --bandwidth -o FILE`, and give --bandwidth-table FILE");
  }
  return print_tuned(args, result, false);
}

// The line of progress that names what is being tuned.
class TuneLine {
 public:
  void show(const TuneProgress& at) {
    constexpr double kFine = 100;
    // The kernels are tuned again for each plan, so progress may start again.
    const bool anew = what_ != at.what || at.done < done_;
    done_ = at.done;
    if (anew) {
      what_ = at.what;
      line_.emplace("tuning " + what_, uint64_t{at.all} * 100, [](uint64_t parts) {
        return fmt::format("{:.1f}", static_cast<double>(parts) / kFine);
      });
    }
    line_->update(static_cast<uint64_t>(at.part * at.all * kFine),
                  fmt::format("{} {} of {}, trial {}, best {:.1f} % of the default's time", at.unit,
                              at.done + 1, at.all, at.trials, 100 * at.best),
                  at.max_left);
  }
  void finish() { line_.reset(); }

 private:
  std::string what_;
  uint32_t done_ = 0;
  std::optional<Progress> line_;
};

int tune_here(const TuneArgs& args) {
  TuningOptions options;
  options.seconds = parse_budget(args.budget);
  options.cases = cases_of(args);
  options.plans = args.only != "kernels";
  options.kernels = args.only != "plans";
  options.max_cores = args.threads;
  options.candidates = args.candidates;
  options.fresh = args.fresh;
  const Machine machine = Machine::live();
  if (args.table) options.table = read_table(*args.table, machine);
  const OpenedModel model = open_named_model(args.model, {}, args.verbose, TokenizerUse::kNone);
  Interrupts interrupts;
  TuneLine line;
  TuningWatch watch;
  watch.interrupted = [&] { return interrupts.received(); };
  watch.progress = [&](const TuneProgress& at) { line.show(at); };
  watch.measured = bandwidth_progress(&interrupts);
  ConsoleListener console(args.verbose, &interrupts);
  const TuningResult result =
      tune_model(model, machine, isa_here(), TunedStore::of_environment(), options, watch, console);
  line.finish();
  print_tuned(args, result, options.kernels);
  const bool interrupted = interrupts.received();
  if (!result.left.empty()) {
    print_note(
        fmt::format("{} {}: run `hearth tune` again to continue",
                    interrupted ? "interrupted before the end of" : "the time was too short for",
                    fmt::join(result.left, ", ")));
  }
  return interrupted ? kInterruptedStatus : 0;
}

constexpr const char* kNothingHere = "nothing was tuned for this model on this machine\n";

std::string list_text(const std::vector<TunedStore::Entry>& entries) {
  std::string text;
  for (const TunedStore::Entry& entry : entries) text += stored_text(entry);
  return text.empty() ? "nothing was tuned yet\n" : text;
}

int print_stored(const TuneArgs& args) {
  const TunedStore store = TunedStore::of_environment();
  if (args.list) {
    const std::vector<TunedStore::Entry> entries = store.list();
    write_stdout(args.json ? stored_json(entries) : list_text(entries));
    return 0;
  }
  const OpenedModel model = open_shape(args);
  const TunedFields machine = machine_fields(Machine::live(), isa_here());
  const TunedFields shape = model_fields(model.spec);
  if (args.remove) {
    const TunedLock lock = store.lock();
    const bool removed = store.remove(machine, shape);
    write_stdout(removed ? "removed\n" : kNothingHere);
    return 0;
  }
  const TunedStore::Found found = store.find(machine, shape);
  if (!found.note.empty()) print_note(found.note);
  if (args.exported) {
    write_stdout(processor_schedules_text(
        exported_schedules(found.tuned.value_or(Tuned{}), processor_here(), isa_here())));
    return 0;
  }
  std::vector<TunedStore::Entry> entries;
  if (found.tuned) entries.push_back({found.path, found.tuned, ""});
  if (args.json) {
    write_stdout(stored_json(entries));
  } else if (entries.empty()) {
    write_stdout(kNothingHere);
  } else {
    write_stdout(stored_text(entries[0]) + found.tuned->engine_plan);
  }
  return 0;
}

int tune(const TuneArgs& args) {
  if (args.list || args.show || args.remove || args.exported) return print_stored(args);
  parse_budget(args.budget);
  if (args.machine) return predict_only(args);
  if (args.model.empty()) fail(ErrorCode::kUsage, "tune needs a MODEL, or --list");
  return tune_here(args);
}

}  // namespace

void add_tune(CLI::App& program, Action& action) {
  CLI::App& verb = *program.add_subcommand("tune", "Find and save a model's fastest settings here");
  auto args = std::make_shared<TuneArgs>();
  take_model_name(verb.add_option("model", args->model,
                                  "GGUF file, a folder of safetensors, or a name (`hearth list`)")
                      ->type_name("MODEL"));
  add_choice(verb, "--only", &args->only, {"plans", "kernels"},
             "Tune only plans or only kernels; default: both");
  verb.add_option("--budget", args->budget, "Time to take at most, such as 90s, 10m or 1h")
      ->type_name("TIME")
      ->capture_default_str();
  add_text(verb, "--trace", &args->trace, "CSV",
           "Tune for requests of these lengths: a line 'prompt,output' for each, in tokens");
  add_count(
      verb, "-t,--threads", &args->threads, 1, kMaxMembers,
      "The most cores at work, though the default plan may have more; default: as the engine, "
      "which leaves one core free from 8 cores up");
  add_count(verb, "--candidates", &args->candidates, 1, 10,
            "Plans of a phase to compare, each with its own tuned kernels")
      ->capture_default_str();
  CLI::Option* machine =
      add_text(verb, "--machine", &args->machine, "MACHINE",
               "Predict for another machine: hwloc's XML file, or 'synthetic DESCRIPTION'");
  add_text(verb, "--bandwidth-table", &args->table, "FILE",
           "Rank plans by the table in FILE, which `hearth topo --bandwidth -o FILE` measures");
  verb.add_flag("--fresh", args->fresh, "Discard earlier measurements and start again")
      ->excludes(machine);
  CLI::Option* json = verb.add_flag("--json", args->json, "Print one JSON object");
  CLI::Option* list = verb.add_flag("--list", args->list, "List all saved results");
  CLI::Option* show =
      verb.add_flag("--show", args->show, "Show the results saved for MODEL on this machine");
  CLI::Option* removal =
      verb.add_flag("--remove", args->remove, "Remove the results saved for MODEL on this machine")
          ->excludes(list)
          ->excludes(show)
          ->excludes(json);
  list->excludes(show);
  verb.add_flag("--export", args->exported,
                "Print the kernel schedules saved for MODEL as a file of src/kernels/schedules")
      ->excludes(list)
      ->excludes(show)
      ->excludes(removal)
      ->excludes(json);
  verb.add_flag("-v,--verbose", args->verbose, "Print more details");
  add_examples(verb,
               "  hearth tune model.gguf\n"
               "  hearth tune model.gguf --only kernels\n"
               "  hearth tune model.gguf --budget 2m --trace requests.csv\n"
               "  hearth tune model.gguf --machine 'synthetic pack:2 numa:4 l3:4 core:4 pu:2'\n"
               "  hearth tune --list");
  verb.callback([args, &action] { action = [args] { return tune(*args); }; });
}

}  // namespace hearth
