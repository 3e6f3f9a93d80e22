#include "base/json.h"
#include "bench/figure_text.h"
#include "bench/kernel_report.h"
#include "bench/load_report.h"
#include "bench/profile_report.h"
#include "bench/report.h"

namespace hearth {
namespace {

void add_model(Json& json, const BenchModel& model) {
  json.key("model").object().key("file").text(model.file);
  json.key("architecture").text(model.architecture).key("name").text(model.name);
  json.key("type").text(model.type()).key("parameters").number(model.parameters);
  json.key("file_bytes").number(model.file_bytes).end_object();
}

void add_memory(Json& json, const MemoryUse& memory) {
  json.key("memory_bytes").object().key("total").number(memory.total());
  json.key("weights").number(memory.weights).key("kv").number(memory.kv);
  if (memory.states > 0) json.key("states").number(memory.states);
  json.key("activations").number(memory.activations).key("scratch").number(memory.scratch);
  json.key("logits").number(memory.logits).end_object();
}

void add_level(Json& json, const LevelLimits& level) {
  std::vector<double> rates;
  for (const LimitSample& sample : level.samples) rates.push_back(sample.read * 1e-9);
  json.object().key("isa").text(isa_name(level.isa)).key("samples").number(level.samples.size());
  json.key("read_gb_per_second").real(level.best.read * 1e-9);
  for (size_t i = 0; i < kArithmeticUnits; ++i) {
    double ops = level.best.ops[i];
    json.key(kUnitKeys[i]).real(ops > 0 ? std::optional(ops * 1e-9) : std::nullopt);
  }
  json.key("sampled").object();
  add_spread(json, "read_gb_per_second", spread_of(std::move(rates)));
  for (size_t i = 0; i < kArithmeticUnits; ++i) {
    if (level.best.ops[i] == 0) continue;
    std::vector<double> ops;
    for (const LimitSample& sample : level.samples) ops.push_back(sample.ops[i] * 1e-9);
    add_spread(json, kUnitKeys[i], spread_of(std::move(ops)));
  }
  json.end_object().end_object();
}

void add_limits(Json& json, const BenchRun& run) {
  json.key("read_buffer").object().key("bytes").number(run.buffer.bytes);
  json.key("wanted_bytes").number(run.buffer.wanted);
  json.key("huge_page_bytes").number(run.buffer.huge_bytes).end_object();
  json.key("limits").array();
  for (const LevelLimits& level : run.limits) add_level(json, level);
  json.end_array();
}

void add_reading(Json& json, const CaseResult& result, const Figures::Reading& reading) {
  json.key("reading").object().key("bytes_per_step").number(result.work.weight_bytes);
  json.key("kv_bytes_per_step").number(result.work.kv_bytes);
  json.key("gb_per_second").real(reading.bytes_per_second * 1e-9);
  json.key("share").real(reading.share).key("share_with_kv").real(reading.share_with_kv);
  json.key("share_beside").real(reading.share_beside).end_object();
}

void add_computing(Json& json, const BenchRun& run, const CaseResult& result, const Figures& f) {
  json.key("computing").object().key("operations").real(result.work.ops());
  json.key("attention_operations").real(result.work.attention_ops);
  json.key("gops").real(f.ops_per_second * 1e-9).key("unit").text(arithmetic_unit_name(run.unit));
  json.key("share").real(f.peak_share).key("mixed_share").real(f.mixed_peak_share);
  json.key("share_beside").real(f.peak_share_beside).end_object();
}

void add_result(Json& json, const BenchRun& run, const CaseResult& result) {
  Figures f = figures_of(result, run.unit, run.best());
  json.object().key("phase").text(phase_name(result.what.phase));
  json.key("tokens").number(result.what.tokens).key("depth").number(result.what.depth);
  json.key("sequences").number(result.what.sequences);
  add_spread(json, "tokens_per_second", f.tokens_per_second);
  json.key("seconds").array();
  for (const Repetition& repetition : result.repetitions) json.real(repetition.seconds);
  bool prefill = result.what.phase == Phase::kPrefill;
  json.end_array().key("first_token_seconds");
  json.real(prefill ? std::optional(f.seconds) : std::nullopt);
  if (f.reading) {
    add_reading(json, result, *f.reading);
  } else {
    json.key("reading").null();
  }
  add_computing(json, run, result, f);
  json.key("profiles").array();
  for (const ProfileSummary& profile : result.profiles) profile_json(json, profile, run.best());
  json.end_array().end_object();
}

void add_arrival(Json& json, const ArrivalResult& arrival) {
  json.object().key("prompt_tokens").number(arrival.what.prompt);
  json.key("step_seconds").real(arrival.what.step_seconds);
  json.key("repetitions").number(arrival.repetitions);
  add_spread(json, "usual_gap_seconds", arrival.usual_seconds);
  add_spread(json, "longest_gap_seconds", arrival.longest_seconds);
  add_spread(json, "first_token_seconds", arrival.first_token_seconds);
  add_spread(json, "tokens_meanwhile", arrival.tokens_meanwhile);
  json.end_object();
}

void add_plan(Json& json, const BenchPlan& plan) {
  json.key("plan").object().key("shards").number(plan.shards);
  json.key("prefill_groups").number(plan.prefill_groups);
  json.key("decode_groups").number(plan.decode_groups);
  json.key("sync").text(group_sync_name(plan.sync));
  json.key("interleaved").boolean(plan.interleaved).end_object();
}

void add_engine(Json& json, const BenchRun& run) {
  add_plan(json, run.plan);
  json.key("context").number(run.context);
  add_memory(json, run.memory);
}

void add_steps(Json& json, const BenchRun& run) {
  json.key("tests").array();
  for (const CaseResult& result : run.results) {
    if (!result.repetitions.empty()) add_result(json, run, result);
  }
  json.end_array().key("arrivals").array();
  for (const ArrivalResult& arrival : run.arrivals) {
    if (arrival.repetitions > 0) add_arrival(json, arrival);
  }
  json.end_array();
}

void add_kernels(Json& json, const BenchRun& run) {
  json.key("kernels").array();
  for (const KernelResult& result : run.kernels) {
    if (!result.seconds.empty()) kernel_json(json, result, run.best());
  }
  json.end_array();
}

void add_run(Json& json, const BenchReport& report, const BenchRun& run) {
  json.object().key("threads").number(run.threads);
  if (run.loads) {
    add_engine(json, run);
    load_json(json.key("loads"), *run.loads);
  } else {
    add_limits(json, run);
    if (report.measured == Measured::kKernels) {
      add_kernels(json, run);
    } else if (report.model) {
      add_engine(json, run);
      add_steps(json, run);
    }
  }
  json.end_object();
}

}  // namespace

std::string json(const BenchReport& report) {
  Json json;
  json.object().key("schema").text("hearth-bench-2").key("version").text(report.version);
  json.key("time").text(report.time).key("cpu").text(report.cpu);
  if (report.model) {
    add_model(json, *report.model);
    json.key("isa").text(isa_name(report.isa));
    if (report.measured != Measured::kKernels) json.key("kv_type").text(report.kv_type);
  }
  json.key("repetitions").number(report.repetitions);
  if (report.shares) {
    json.key("steal_share").real(report.shares->stolen);
    json.key("others_share").real(report.shares->others);
  } else {
    json.key("steal_share").null().key("others_share").null();
  }
  json.key("interrupted").boolean(report.interrupted).key("runs").array();
  for (const BenchRun& run : report.runs) add_run(json, report, run);
  json.end_array().key("notes").array();
  for (const std::string& note : report.notes) json.text(note);
  return json.end_array().end_object().line();
}

}  // namespace hearth
