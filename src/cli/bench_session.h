// All ways to run `hearth bench` share this: its arguments, what was found, who may end it early,
// and the limits of a team.
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
  std::vector<uint32_t> threads;  // empty: the default, or the plan's
  uint32_t repetitions = 5;
  std::string form = "md";
  EngineArgs engine;
  std::vector<uint32_t> arriving;             // lengths of prompts
  std::vector<uint32_t> step_limits{0, 250};  // milliseconds
  std::vector<uint32_t> kernel_rows{1, 4, 16, 64, 512};
  std::vector<std::string> kernel_types;  // empty: the file's
  bool limits = false, profile = false, json = false;
  bool kernels = false, load = false;
  std::vector<std::string> compared;  // reports of --compare
};

struct BenchSession {
  const BenchArgs& args;
  Machine machine;
  Interrupts interrupts;
  BenchReport report;
  std::optional<CpuTimes> cpu_before;

  // `args` outlives it.
  explicit BenchSession(const BenchArgs& args);

  // 0: the default, or the plan's.
  std::vector<uint32_t> thread_counts() const;
  bool interrupted();
  // Prints a note once, however often it is told.
  void note(const std::string& text);
  // Notes on what makes the threads' figures doubtful.
  void note_threads(const Placement& placement, const std::vector<std::string>& warnings);
};

// -t and -r; returns the first.
CLI::Option* add_team_options(CLI::App& verb, BenchArgs* args, const std::string& default_threads);
// -o and --json.
void add_forms(CLI::App& verb, BenchArgs* args);

// Whether the form is one of pictures, and writing it: of reports, and of one that is JSON.
bool draws_charts(const BenchArgs& args);
void write_charts(const BenchArgs& args, const Comparison& comparison);
void write_charts(const BenchArgs& args, const std::string& report);

// Writes a report in the form that was asked for; returns the exit status.
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
// The session's own.
int tell_report(BenchSession& session);

// Limits of the team, with notes on what makes them doubtful. Memory that is free is known anew,
// since a model may have been loaded.
std::unique_ptr<TeamLimits> make_limits(BenchSession& session, Team& team,
                                        const Placement& placement, const std::vector<Isa>& isas);

// Threads, plan, context and memory of the run.
void describe_engine(const Engine& engine, BenchRun* run);

BenchModel describe_for_bench(const OpenedModel& model);
// Says which types an engine's policy made of the weights.
void tell_made_type(const WeightPolicy& policy, BenchModel* model);

}  // namespace hearth
