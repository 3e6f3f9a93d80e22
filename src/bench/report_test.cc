#include "bench/report.h"

#include <gtest/gtest.h>

#include "bench/table.h"
#include "bench/test_report.h"

namespace hearth {
namespace {

LimitSample limit() {
  LimitSample sample;
  sample.read = 20e9;
  sample.ops = {250e9, 0, 1000e9, 500e9};
  return sample;
}

BenchReport machine_alone() {
  BenchReport report = sample_report("Some CPU, fast", 1);
  BenchRun run;
  run.threads = 2;
  run.buffer = {64 << 20, 64 << 20, 0};
  run.limits = {{Isa::kAvx2, limit(), {limit()}}};
  report.runs.push_back(run);
  return report;
}

BenchReport with_model() {
  BenchReport report = machine_alone();
  report.model = sample_model();
  report.isa = Isa::kAvx2;
  report.kv_type = "f16";
  BenchRun& run = report.runs[0];
  run.unit = ArithmeticUnit::kInt8Dot;
  run.memory = {.weights = 1 << 20,
                .kv = 2 << 20,
                .activations = 3 << 20,
                .scratch = 4 << 20,
                .logits = 5 << 20};
  CaseResult prefill;
  prefill.what = {Phase::kPrefill, 512, 1, 64};
  prefill.work.gemm_ops = {0, 0, 800e9};
  prefill.repetitions = {{1.6, limit()}};
  CaseResult decode;
  decode.what = {Phase::kDecode, 100, 4, 0};
  decode.work.steps = 100;
  decode.work.weight_bytes = 500'000'000;
  decode.work.kv_bytes = 50'000'000;
  decode.work.gemm_ops = {0, 0, 100e9};
  decode.repetitions = {{4, limit()}, {5, limit()}, {8, limit()}};
  CaseResult nothing = decode;
  nothing.what.tokens = 77;
  nothing.repetitions.clear();
  run.results = {prefill, decode, nothing};
  return report;
}

TEST(Report, MarkdownOfAModel) {
  EXPECT_EQ(
      squeezed(markdown(with_model())),
      "m.gguf: llama, q8_0, 1.50 B parameters, 3.00 MiB; avx2 kernels, KV f16\n"
      "Some CPU, fast; CPU time stolen 1.0 %, others' 25.0 %; 1 repetition\n"
      "\n"
      "| threads | prefill | depth | tokens/s | min .. max | first token | GOPS | of int8 dot |\n"
      "| ------: | ------: | ----: | -------: | -------------: | ----------: | ---: | ----------: "
      "|\n"
      "| 2 | 512 | 64 | 320.0 | 320.0 .. 320.0 | 1.60 s | 500 | 50.0 % |\n"
      "\n"
      "| threads | decode | depth | sequences | tokens/s | min .. max | weights | GB/s | of read |"
      " with KV | GOPS | of int8 dot |\n"
      "| ------: | -----: | ----: | --------: | -------: | ------------: | ---------: | ---: |"
      " ------: | ------: | ---: | ----------: |\n"
      "| 2 | 100 | 0 | 4 | 80.0 | 50.0 .. 100.0 | 476.84 MiB | 10.0 | 50.0 % | 55.0 % | 20.0 |"
      " 2.0 % |\n"
      "\n"
      "| threads | kernels | read GB/s | f32 fma GOPS | bf16 dot GOPS | int8 dot GOPS |"
      " int16 dot GOPS | best of | read over |\n"
      "| ------: | ------: | --------: | -----------: | ------------: | ------------: |"
      " -------------: | ------: | --------: |\n"
      "| 2 | avx2 | 20.0 | 250 | - | 1000 | 500 | 1 | 64.00 MiB |\n"
      "\n"
      "| threads | shards | groups | memory | weights | KV | activations | scratch | logits |\n"
      "| ------: | -----: | -----: | --------: | -------: | -------: | ----------: | -------: | "
      "-------: |\n"
      "| 2 | 1 | 1 | 15.00 MiB | 1.00 MiB | 2.00 MiB | 3.00 MiB | 4.00 MiB | 5.00 MiB |\n");
}

TEST(Report, MarkdownOfLimitsAloneAndNotes) {
  BenchReport report = machine_alone();
  report.shares.reset();
  report.notes = {"something is odd"};
  report.interrupted = true;
  std::string text = markdown(report);
  EXPECT_TRUE(text.starts_with("Some CPU, fast; CPU time stolen or others': unknown; 1 rep"))
      << text;
  EXPECT_EQ(text.find("memory"), std::string::npos);
  EXPECT_NE(text.find("\nnote: something is odd\nnote: interrupted"), std::string::npos) << text;
  // The run was interrupted before anything was sampled, so there is no table.
  report.runs[0].limits[0].samples.clear();
  EXPECT_EQ(markdown(report).find('|'), std::string::npos);
  EXPECT_EQ(csv(report), "");
}

TEST(Report, CsvOfAModel) {
  std::string text = csv(with_model());
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
    lines.push_back(text.substr(at, text.find('\n', at) - at));
  }
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_TRUE(
      lines[0].starts_with("version,time,cpu,steal_share,others_share,interrupted,threads"));
  EXPECT_EQ(lines[1],
            "1.2.3,2030-01-02T03:04:05Z,\"Some CPU, fast\",0.01,0.25,false,2,avx2,m.gguf,llama,"
            "q8_0,1500000000,3145728,f16,1,1,async,false,prefill,512,64,1,1,320,320,320,0,1.6,,,,,,"
            "8e+11,500,"
            "int8 dot,0.5,20,1000,1048576,2097152,3145728,4194304,5242880");
  EXPECT_EQ(lines[2],
            "1.2.3,2030-01-02T03:04:05Z,\"Some CPU, fast\",0.01,0.25,false,2,avx2,m.gguf,llama,"
            "q8_0,1500000000,3145728,f16,1,1,async,false,decode,100,0,4,3,80,50,100,0.625,,"
            "500000000,50000000,"
            "10,0.5,0.55,1e+11,20,int8 dot,0.02,20,1000,1048576,2097152,3145728,4194304,5242880");
}

TEST(Report, JsonOfAModelAndOfLimitsAlone) {
  std::string told = json(with_model());
  EXPECT_TRUE(told.starts_with("{\"schema\":\"hearth-bench-2\",\"version\":\"1.2.3\",")) << told;
  for (const char* part :
       {"\"model\":{\"file\":\"m.gguf\",", "\"tokens_per_second\":{\"median\":80.0,\"min\":50.0,",
        "\"first_token_seconds\":1.6,\"reading\":null,", "\"share_with_kv\":0.55,",
        "\"bf16_dot_gops\":null,"}) {
    EXPECT_NE(told.find(part), std::string::npos) << part << " in " << told;
  }
  // Objects without a repetition are left out.
  EXPECT_EQ(told.find("\"tokens\":77"), std::string::npos);
  told = json(machine_alone());
  EXPECT_EQ(told.find("\"model\""), std::string::npos);
  EXPECT_EQ(told.find("\"tests\""), std::string::npos);
}

TEST(Report, CsvOfLimitsAlone) {
  EXPECT_EQ(csv(machine_alone()),
            "version,time,cpu,steal_share,others_share,interrupted,threads,isa,samples,"
            "read_buffer_bytes,read_gb_per_second,f32_fma_gops,bf16_dot_gops,int8_dot_gops,"
            "int16_dot_gops\n"
            "1.2.3,2030-01-02T03:04:05Z,\"Some CPU, fast\",0.01,0.25,false,2,avx2,1,67108864,20,"
            "250,,1000,500\n");
}

TEST(Table, EscapesWhatItsFormTakesForItsOwn) {
  Table table;
  table.add({{"a", "x|y"}, {"b", "say \"hi\""}});
  EXPECT_EQ(table.markdown(), "|    a |        b |\n| ---: | -------: |\n| x\\|y | say \"hi\" |\n");
  EXPECT_EQ(table.csv(), "a,b\nx|y,\"say \"\"hi\"\"\"\n");
}

}  // namespace
}  // namespace hearth
