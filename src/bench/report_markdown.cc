#include "bench/report.h"

#include <fmt/format.h>

#include "base/bytes_text.h"
#include "bench/figure_text.h"
#include "bench/kernel_report.h"
#include "bench/load_report.h"
#include "bench/profile_report.h"
#include "bench/table.h"

namespace hearth {
namespace {

std::string spread_text(const Spread& spread) {
  return fmt::format("{} .. {}", rate_text(spread.least), rate_text(spread.most));
}

Cells prefill_cells(const BenchRun& run, const CaseResult& result) {
  Figures f = figures_of(result, run.unit, run.best());
  return {{"threads", fmt::format("{}", run.threads)},
          {"prefill", fmt::format("{}", result.what.tokens)},
          {"depth", fmt::format("{}", result.what.depth)},
          {"tokens/s", rate_text(f.tokens_per_second.median)},
          {"min .. max", spread_text(f.tokens_per_second)},
          {"first token", duration_figure(f.seconds)},
          {"GOPS", giga_text(f.ops_per_second)},
          {fmt::format("of {}", arithmetic_unit_name(run.unit)), percent_text(f.peak_share)}};
}

Cells decode_cells(const BenchRun& run, const CaseResult& result) {
  Figures f = figures_of(result, run.unit, run.best());
  return {{"threads", fmt::format("{}", run.threads)},
          {"decode", fmt::format("{}", result.what.tokens)},
          {"depth", fmt::format("{}", result.what.depth)},
          {"sequences", fmt::format("{}", result.what.sequences)},
          {"tokens/s", rate_text(f.tokens_per_second.median)},
          {"min .. max", spread_text(f.tokens_per_second)},
          {"weights", bytes_text(result.work.weight_bytes)},
          {"GB/s", giga_text(f.reading->bytes_per_second)},
          {"of read", percent_text(f.reading->share)},
          {"with KV", percent_text(f.reading->share_with_kv)},
          {"GOPS", giga_text(f.ops_per_second)},
          {fmt::format("of {}", arithmetic_unit_name(run.unit)), percent_text(f.peak_share)}};
}

Cells limit_cells(const BenchRun& run, const LevelLimits& level) {
  Cells cells = {{"threads", fmt::format("{}", run.threads)},
                 {"kernels", isa_name(level.isa)},
                 {"read GB/s", giga_text(level.best.read)}};
  for (size_t i = 0; i < kArithmeticUnits; ++i) {
    double ops = level.best.ops[i];
    cells.emplace_back(fmt::format("{} GOPS", arithmetic_unit_name(static_cast<ArithmeticUnit>(i))),
                       ops > 0 ? giga_text(ops) : "-");
  }
  cells.emplace_back("best of", fmt::format("{}", level.samples.size()));
  cells.emplace_back("read over", bytes_text(run.buffer.bytes));
  return cells;
}

Cells memory_cells(const BenchRun& run) {
  const MemoryUse& memory = run.memory;
  const BenchPlan& plan = run.plan;
  std::string groups = fmt::format("{}", plan.prefill_groups);
  if (plan.decode_groups != plan.prefill_groups) groups += fmt::format(",{}", plan.decode_groups);
  if (plan.sync == GroupSync::kLockstep) groups += " lockstep";
  Cells cells{{"threads", fmt::format("{}", run.threads)},
              {"shards", fmt::format("{}{}", plan.shards, plan.interleaved ? " interleaved" : "")},
              {"groups", groups},
              {"memory", bytes_text(memory.total())},
              {"weights", bytes_text(memory.weights)},
              {"KV", bytes_text(memory.kv)}};
  if (memory.states > 0) cells.emplace_back("states", bytes_text(memory.states));
  cells.emplace_back("activations", bytes_text(memory.activations));
  cells.emplace_back("scratch", bytes_text(memory.scratch));
  cells.emplace_back("logits", bytes_text(memory.logits));
  return cells;
}

Cells arrival_cells(const BenchRun& run, const ArrivalResult& arrival) {
  double budget = arrival.what.step_seconds;
  return {{"threads", fmt::format("{}", run.threads)},
          {"prompt arriving", fmt::format("{}", arrival.what.prompt)},
          {"step limit", budget > 0 ? duration_figure(budget) : "none"},
          {"usual gap", duration_figure(arrival.usual_seconds.median)},
          {"longest gap", duration_figure(arrival.longest_seconds.median)},
          {"min .. max", fmt::format("{} .. {}", duration_figure(arrival.longest_seconds.least),
                                     duration_figure(arrival.longest_seconds.most))},
          {"tokens meanwhile", fmt::format("{:.0f}", arrival.tokens_meanwhile.median)},
          {"prompt's first token", duration_figure(arrival.first_token_seconds.median)}};
}

// Appends a table of the rows that add(run, table) makes of every run; appends nothing if no run
// has rows.
template <typename Add>
void add_table(const BenchReport& report, std::string* out, const Add& add) {
  Table table;
  for (const BenchRun& run : report.runs) add(run, table);
  std::string text = table.markdown();
  if (!text.empty()) *out += "\n" + text;
}

void result_table(const BenchReport& report, Phase phase, std::string* out) {
  add_table(report, out, [&](const BenchRun& run, Table& table) {
    for (const CaseResult& result : run.results) {
      if (result.what.phase != phase || result.repetitions.empty()) continue;
      table.add(phase == Phase::kPrefill ? prefill_cells(run, result) : decode_cells(run, result));
    }
  });
}

std::string model_line(const BenchReport& report) {
  const BenchModel& model = *report.model;
  return fmt::format("{}: {}, {}, {} parameters, {}; {} kernels{}\n", model.file,
                     model.architecture, model.type(), count_text(model.parameters),
                     bytes_text(model.file_bytes), isa_name(report.isa),
                     report.measured == Measured::kKernels ? " alone" : ", KV " + report.kv_type);
}

std::string machine_line(const BenchReport& report) {
  std::string shares = "CPU time stolen or others': unknown";
  if (report.shares) {
    shares = fmt::format("CPU time stolen {}, others' {}", percent_text(report.shares->stolen),
                         percent_text(report.shares->others));
  }
  return fmt::format("{}; {}; {} repetition{}\n", cpu_text(report.cpu), shares, report.repetitions,
                     report.repetitions == 1 ? "" : "s");
}

void measured_tables(const BenchReport& report, std::string* out) {
  result_table(report, Phase::kPrefill, out);
  result_table(report, Phase::kDecode, out);
  add_table(report, out, [](const BenchRun& run, Table& table) {
    for (const ArrivalResult& arrival : run.arrivals) {
      if (arrival.repetitions > 0) table.add(arrival_cells(run, arrival));
    }
  });
  add_table(report, out, [&](const BenchRun& run, Table& table) {
    for (const KernelResult& result : run.kernels) {
      if (result.seconds.empty()) continue;
      table.add(kernel_cells(run.threads, result, run.best(), report.contenders));
    }
  });
  add_table(report, out, [](const BenchRun& run, Table& table) {
    if (run.loads) table.add(load_cells(run.threads, *run.loads));
  });
}

void profiles(const BenchReport& report, std::string* out) {
  for (const BenchRun& run : report.runs) {
    for (const CaseResult& result : run.results) {
      for (const ProfileSummary& profile : result.profiles) {
        *out += profile_markdown(fmt::format("{}, {} threads", case_text(result.what), run.threads),
                                 profile, run.best());
      }
    }
  }
}

}  // namespace

std::string markdown(const BenchReport& report) {
  std::string out = report.model ? model_line(report) : "";
  out += machine_line(report);
  measured_tables(report, &out);
  profiles(report, &out);
  add_table(report, &out, [](const BenchRun& run, Table& table) {
    for (const LevelLimits& level : run.limits) {
      if (!level.samples.empty()) table.add(limit_cells(run, level));
    }
  });
  if (report.model && report.measured != Measured::kKernels) {
    add_table(report, &out,
              [](const BenchRun& run, Table& table) { table.add(memory_cells(run)); });
  }
  if (!report.notes.empty() || report.interrupted) out += "\n";
  for (const std::string& note : report.notes) out += "note: " + note + "\n";
  if (report.interrupted) out += "note: interrupted; the remaining measurements are missing\n";
  return out;
}

}  // namespace hearth
