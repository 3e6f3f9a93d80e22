// State shared by all forms of `hearth bench`: arguments, what was found of the machine,
// interrupts, and the limits of a team of threads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/cpu_times.h"
#include "bench/report.h"
#include "bench/work.h"
#include "cli/interrupts.h"
#include "cli/options.h"
#include "cli/text_io.h"
#include "engine/open_model.h"
#include "report/comparison.h"
#include "threads/team.h"
#include "topology/machine.h"

namespace hearth {

struct BenchArgs {
  std::string model;
  BenchLists lists{{512}, {128}, {0}, {1}};
  std::vector<uint32_t> threads;  // empty: the default, or the plan's number
  uint32_t repetitions = 5;
  std::string form = "md";
  EngineArgs engine;
  std::vector<uint32_t> arriving;             // lengths of prompts that arrive during decoding
  std::vector<uint32_t> step_limits{0, 250};  // milliseconds; 0: none
  std::vector<uint32_t> kernel_rows{1, 4, 16, 64, 512};
  std::vector<std::string> kernel_types;  // empty: the file's types
  bool limits = false, profile = false, json = false;
  bool kernels = false, load = false;
  std::vector<std::string> compared;  // paths of reports for --compare
};

struct BenchSession {
  const BenchArgs& args;
  Machine machine;
  Interrupts interrupts;
  BenchReport report;
  std::optional<CpuTimes> cpu_before;

  // `args` must outlive the object.
  explicit BenchSession(const BenchArgs& args);

  // Returns the numbers of threads to measure; 0 stands for the default, or the plan's number.
  std::vector<uint32_t> thread_counts() const;
  bool interrupted();
  // Prints a note, unless it was printed before.
  void note(const std::string& text);
  // Prints notes on everything that makes measurements with these threads unreliable.
  void note_threads(const Placement& placement, const std::vector<std::string>& warnings);
};

// Adds -t and -r; returns -t's option.
CLI::Option* add_team_options(CLI::App& verb, BenchArgs* args, const std::string& default_threads);
// Adds -o and --json.
void add_forms(CLI::App& verb, BenchArgs* args);

// draws_charts() returns whether the output form is charts. write_charts() writes charts of a
// comparison, or of a report in JSON.
bool draws_charts(const BenchArgs& args);
void write_charts(const BenchArgs& args, const Comparison& comparison);
void write_charts(const BenchArgs& args, const std::string& report);

// Writes a report in the chosen form; returns the exit status.
template <typename Report>
int write_report(const BenchArgs& args, const Report& report) {
  if (args.json || args.form == "json") {
    write_stdout(json(report));
  } else if (args.form == "csv") {
    for (const std::string& note : report.notes) print_note(note);
    write_stdout(csv(report));
  } else if (draws_charts(args)) {
    write_charts(args, json(report));
  } else {
    write_stdout(markdown(report));
  }
  return report.interrupted ? kInterruptedStatus : 0;
}
// Writes the session's own report; returns the exit status.
int print_report(BenchSession& session);

// Measures the limits of the team, and prints notes on everything that makes them unreliable. Reads
// again how much memory is free, since a model may have been loaded.
std::unique_ptr<TeamLimits> make_limits(BenchSession& session, Team& team,
                                        const Placement& placement, const std::vector<Isa>& isas);

// Stores the threads, plan, context and memory of an engine in the run.
void describe_engine(const Engine& engine, BenchRun* run);

BenchModel describe_for_bench(const OpenedModel& model);
// Stores the type to which the weights were quantised in the report.
void note_made_type(const WeightPolicy& policy, BenchModel* model);

}  // namespace hearth
