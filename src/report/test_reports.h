// Reports for tests that read them back.
#pragma once

#include <string>
#include <vector>

#include "bench/report.h"
#include "bench/serve_report.h"
#include "bench/test_report.h"

namespace hearth {

// Returns a report of decode alone: `rate` tokens a second with 4 sequences, half of what reading
// memory allows.
inline BenchReport measured_steps(double rate) {
  BenchReport report = sample_report("Some CPU, fast", 2);
  report.model = sample_model();
  report.isa = Isa::kAvx2;
  report.kv_type = "f16";
  LimitSample limit;
  limit.read = rate * 0.25e9;
  limit.ops = {250e9, 0, 1000e9, 500e9};
  BenchRun run;
  run.threads = 2;
  run.unit = ArithmeticUnit::kInt8Dot;
  run.limits = {{Isa::kAvx2, limit, {limit}}};
  CaseResult decode;
  decode.what = {Phase::kDecode, 100, 4, 0};
  decode.work.steps = 100;
  decode.work.weight_bytes = 500'000'000;
  decode.work.gemm_ops = {0, 0, 100e9};
  const double seconds = 400 / rate;
  decode.repetitions = {{seconds, limit}, {seconds * 1.01, limit}, {seconds * 0.99, limit}};
  run.results = {decode};
  report.runs = {run};
  return report;
}

// Returns a report with a load for each of `rates` requests a second; each load has four requests,
// with first tokens after 0.1 to 0.4 s.
inline ServeReport served(const std::vector<double>& rates) {
  ServeReport report;
  report.version = "1.2.3";
  report.time = "2030-01-02T03:04:05Z";
  report.url = "http://h:1/v1";
  report.call.model = "m";
  report.lengths = "7 prompt tokens, 3 output tokens";
  report.slo.ttft = 0.5;
  for (double rate : rates) {
    ServedLoad load;
    load.rate = rate;
    load.seconds = 4;
    for (int i = 1; i <= 4; ++i) {
      ServedRequest request;
      request.asked = {7, 3};
      request.first = 0.1 * i;
      request.end = 0.1 * i + 0.2;
      request.prompt_tokens = 7;
      request.output_tokens = 3;
      request.counted_by_server = true;
      load.requests.push_back(request);
    }
    report.loads.push_back(load);
  }
  return report;
}

}  // namespace hearth
