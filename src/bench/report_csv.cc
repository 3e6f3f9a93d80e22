#include "bench/kernel_report.h"
#include "bench/load_report.h"
#include "bench/report.h"
#include "bench/table.h"

namespace hearth {
namespace {

Cells csv_common(const BenchReport& report, const BenchRun& run) {
  return {{"version", report.version},
          {"time", report.time},
          {"cpu", report.cpu},
          {"steal_share", report.shares ? csv_number(report.shares->stolen) : ""},
          {"others_share", report.shares ? csv_number(report.shares->others) : ""},
          {"interrupted", report.interrupted ? "true" : "false"},
          {"threads", csv_number(uint64_t{run.threads})}};
}

Cells csv_limits(const BenchReport& report, const BenchRun& run, const LevelLimits& level) {
  Cells cells = csv_common(report, run);
  append(&cells, {{"isa", isa_name(level.isa)},
                  {"samples", csv_number(uint64_t{level.samples.size()})},
                  {"read_buffer_bytes", csv_number(run.buffer.bytes)},
                  {"read_gb_per_second", csv_number(level.best.read * 1e-9)}});
  for (size_t i = 0; i < kArithmeticUnits; ++i) {
    double ops = level.best.ops[i];
    cells.emplace_back(kUnitKeys[i], ops > 0 ? csv_number(ops * 1e-9) : "");
  }
  return cells;
}

Cells csv_kernel(const BenchReport& report, const BenchRun& run, const KernelResult& result) {
  Cells cells = csv_common(report, run);
  append(&cells, {{"isa", isa_name(report.isa)}, {"model", report.model->file}});
  append(&cells, kernel_csv(result, run.best(), report.contenders));
  return cells;
}

// Returns the columns that identify the model and the plan.
Cells csv_model(const BenchReport& report, const BenchRun& run) {
  const BenchModel& model = *report.model;
  return {{"isa", isa_name(report.isa)},
          {"model", model.file},
          {"architecture", model.architecture},
          {"type", model.type()},
          {"parameters", csv_number(model.parameters)},
          {"file_bytes", csv_number(model.file_bytes)},
          {"kv_type", report.kv_type},
          {"shards", csv_number(uint64_t{run.plan.shards})}};
}

Cells csv_loads(const BenchReport& report, const BenchRun& run) {
  Cells cells = csv_common(report, run);
  append(&cells, csv_model(report, run));
  append(&cells, {{"interleaved", run.plan.interleaved ? "true" : "false"}});
  append(&cells, load_csv(*run.loads));
  return cells;
}

Cells csv_result(const BenchReport& report, const BenchRun& run, const CaseResult& result) {
  const LimitSample& best = run.best();
  Figures f = figures_of(result, run.unit, best);
  bool decode = f.reading.has_value();
  auto of_decode = [&](auto value) { return decode ? csv_number(value) : std::string(); };
  Figures::Reading reading = f.reading.value_or(Figures::Reading{});
  Cells cells = csv_common(report, run);
  append(&cells, csv_model(report, run));
  append(&cells, {{"groups", csv_number(uint64_t{run.plan.groups(result.what.phase)})},
                  {"sync", group_sync_name(run.plan.sync)},
                  {"interleaved", run.plan.interleaved ? "true" : "false"},
                  {"phase", phase_name(result.what.phase)},
                  {"tokens", csv_number(uint64_t{result.what.tokens})},
                  {"depth", csv_number(uint64_t{result.what.depth})},
                  {"sequences", csv_number(uint64_t{result.what.sequences})},
                  {"repetitions", csv_number(uint64_t{result.repetitions.size()})},
                  {"tokens_per_second", csv_number(f.tokens_per_second.median)},
                  {"tokens_per_second_min", csv_number(f.tokens_per_second.least)},
                  {"tokens_per_second_max", csv_number(f.tokens_per_second.most)},
                  {"spread", csv_number(f.tokens_per_second.relative())},
                  {"first_token_seconds", decode ? "" : csv_number(f.seconds)},
                  {"bytes_per_step", of_decode(result.work.weight_bytes)},
                  {"kv_bytes_per_step", of_decode(result.work.kv_bytes)},
                  {"gb_per_second", of_decode(reading.bytes_per_second * 1e-9)},
                  {"read_share", of_decode(reading.share)},
                  {"read_share_with_kv", of_decode(reading.share_with_kv)},
                  {"operations", csv_number(result.work.ops())},
                  {"gops", csv_number(f.ops_per_second * 1e-9)},
                  {"unit", arithmetic_unit_name(run.unit)},
                  {"peak_share", csv_number(f.peak_share)},
                  {"read_limit_gb_per_second", csv_number(best.read * 1e-9)},
                  {"unit_limit_gops", csv_number(best.ops[static_cast<size_t>(run.unit)] * 1e-9)},
                  {"memory_weights", csv_number(uint64_t{run.memory.weights})},
                  {"memory_kv", csv_number(uint64_t{run.memory.kv})},
                  {"memory_activations", csv_number(uint64_t{run.memory.activations})},
                  {"memory_scratch", csv_number(uint64_t{run.memory.scratch})},
                  {"memory_logits", csv_number(uint64_t{run.memory.logits})}});
  return cells;
}

}  // namespace

std::string csv(const BenchReport& report) {
  Table table;
  for (const BenchRun& run : report.runs) {
    for (const LevelLimits& level : run.limits) {
      if (!report.model && !level.samples.empty()) table.add(csv_limits(report, run, level));
    }
    for (const CaseResult& result : run.results) {
      if (!result.repetitions.empty()) table.add(csv_result(report, run, result));
    }
    for (const KernelResult& result : run.kernels) {
      if (!result.seconds.empty()) table.add(csv_kernel(report, run, result));
    }
    if (run.loads) table.add(csv_loads(report, run));
  }
  return table.csv();
}

}  // namespace hearth
