// HEARTH_VERSION is defined by the build.
#include "cli/bench_session.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ctime>

#include "base/bytes_text.h"
#include "cli/describe.h"

namespace hearth {
namespace {

constexpr uint32_t kMaxRepetitions = 1000;

}  // namespace

BenchSession::BenchSession(const BenchArgs& bench_args)
    : args(bench_args), machine(Machine::live()), cpu_before(read_cpu_times()) {
  report.version = HEARTH_VERSION;
  report.time = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  report.cpu = machine.cpu_name;
  report.repetitions = args.repetitions;
}

std::vector<uint32_t> BenchSession::thread_counts() const {
  return args.threads.empty() ? std::vector<uint32_t>{0} : args.threads;
}

bool BenchSession::interrupted() {
  report.interrupted = report.interrupted || interrupts.received();
  return report.interrupted;
}

void BenchSession::note(const std::string& text) {
  auto& notes = report.notes;
  if (std::find(notes.begin(), notes.end(), text) == notes.end()) notes.push_back(text);
}

void BenchSession::note_threads(const Placement& placement,
                                const std::vector<std::string>& warnings) {
  if (placement.oversubscribed) {
    note(fmt::format(
        "{} threads share fewer CPUs, so the measured speed is too low: lower --threads",
        placement.seats.size()));
  }
  for (const std::string& warning : warnings) note(warning);
}

CLI::Option* add_team_options(CLI::App& verb, BenchArgs* args, const std::string& default_threads) {
  CLI::Option* threads = add_counts(verb, "-t,--threads", &args->threads, 1, kMaxThreads,
                                    "Numbers of threads; default: " + default_threads);
  add_count(verb, "-r,--repetitions", &args->repetitions, 1, kMaxRepetitions,
            "Repetitions of each measurement")
      ->capture_default_str();
  return threads;
}

void add_forms(CLI::App& verb, BenchArgs* args) {
  CLI::Option* form = add_choice(verb, "-o,--output", &args->form,
                                 {"md", "json", "csv", "svg", "html"}, "Form of the report");
  verb.add_flag("--json", args->json, "The same as -o json")->excludes(form);
}

bool draws_charts(const BenchArgs& args) { return args.form == "svg" || args.form == "html"; }

void write_charts(const BenchArgs& args, const Comparison& comparison) {
  const ChartPage page = charts(comparison);
  write_stdout(args.form == "svg" ? svg_text(page) : html_text(page));
}

void write_charts(const BenchArgs& args, const std::string& report) {
  write_charts(args, compare({read_report(report, "the report")}));
}

int print_report(BenchSession& session) {
  BenchReport& report = session.report;
  report.shares = cpu_shares(session.cpu_before, read_cpu_times());
  return write_report(session.args, report);
}

std::unique_ptr<TeamLimits> make_limits(BenchSession& session, Team& team,
                                        const Placement& placement, const std::vector<Isa>& isas) {
  auto limits = std::make_unique<TeamLimits>(team, Machine::live(), placement, isas);
  const ReadBufferInfo& buffer = limits->buffer();
  if (buffer.is_short()) {
    session.note(
        fmt::format("the read bandwidth was measured over only {} instead of {} (4 times the "
                    "last-level cache), because little memory is free: part may have come from the "
                    "cache, so the limit may be too high",
                    bytes_text(buffer.bytes), bytes_text(buffer.wanted)));
  }
  session.note_threads(placement, team.warnings());
  return limits;
}

void describe_engine(const Engine& engine, BenchRun* run) {
  const Plan& decode = engine.graph(Phase::kDecode).plan;
  run->threads = engine.threads();
  run->plan = {engine.options().shards, engine.graph(Phase::kPrefill).plan.group_count(),
               decode.group_count(), decode.sync, engine.options().interleave};
  run->context = engine.context();
  run->memory = engine.memory();
}

BenchModel describe_for_bench(const OpenedModel& model) {
  const ModelSource& file = model.source;
  ModelDescription description = describe_model(file);
  BenchModel out;
  out.file = file.name();
  out.architecture = description.architecture;
  out.name = description.name;
  if (!description.types.empty()) out.stored_type = description.types[0].type;
  out.parameters = description.parameters;
  out.file_bytes = file.file_bytes();
  note_made_type(model.spec.policy, &out);
  return out;
}

void note_made_type(const WeightPolicy& policy, BenchModel* model) {
  model->made_type = policy.type ? policy_type_name(*policy.type) : "";
}

}  // namespace hearth
