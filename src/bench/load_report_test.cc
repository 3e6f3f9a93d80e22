#include "bench/load_report.h"

#include <gtest/gtest.h>

#include "bench/report.h"
#include "bench/test_report.h"

namespace hearth {
namespace {

LoadResult loads() {
  LoadResult result;
  result.file_bytes = 400'000'000;
  result.packed_bytes = 420'000'000;
  result.planned_bytes = 500'000'000;
  result.repetitions = {{0.5, 0.4, 0.2, 450'000'000, 4 << 20, 8 << 20},
                        {0.3, 0.2, 0.18, 440'000'000, 2 << 20, 8 << 20},
                        {0.4, 0.25, 0.25, std::nullopt, 4 << 20, 6 << 20}};
  return result;
}

TEST(LoadFigures, RatesAndSharesOfPairs) {
  LoadFigures f = load_figures(loads());
  EXPECT_DOUBLE_EQ(f.seconds.median, 0.4);
  EXPECT_DOUBLE_EQ(f.seconds.most, 0.5);
  EXPECT_DOUBLE_EQ(f.packing_seconds.median, 0.25);
  EXPECT_DOUBLE_EQ(f.packed_per_second, 1.6e9);
  EXPECT_DOUBLE_EQ(f.copied_per_second, 2e9);
  // The shares are 0.5, 0.9 and 1. Their median is not the ratio of the medians.
  EXPECT_DOUBLE_EQ(f.share.median, 0.9);
  EXPECT_DOUBLE_EQ(f.share.least, 0.5);
  EXPECT_EQ(f.peak_bytes, 450'000'000u);
  EXPECT_EQ(f.huge_bytes, 2u << 20);
  EXPECT_EQ(f.copy_huge_bytes, 6u << 20);
  LoadResult unknown = loads();
  for (LoadRepetition& repetition : unknown.repetitions) repetition.peak_bytes.reset();
  EXPECT_FALSE(load_figures(unknown).peak_bytes.has_value());
}

BenchReport load_report() {
  BenchReport report = sample_report("Some CPU", 3);
  report.model = sample_model();
  report.measured = Measured::kLoads;
  report.isa = Isa::kAvx512;
  report.kv_type = "f16";
  BenchRun run;
  run.threads = 2;
  run.memory = {.weights = 1 << 20,
                .kv = 2 << 20,
                .activations = 3 << 20,
                .scratch = 4 << 20,
                .logits = 5 << 20};
  run.loads = loads();
  report.runs.push_back(run);
  return report;
}

TEST(LoadReport, Markdown) {
  BenchReport told = load_report();
  EXPECT_EQ(
      squeezed(markdown(told)),
      "m.gguf: llama, q8_0, 1.50 B parameters, 3.00 MiB; avx512 kernels, KV f16\n"
      "Some CPU; CPU time stolen 1.0 %, others' 25.0 %; 3 repetitions\n"
      "\n"
      "| threads | matrices | packed | load | min .. max | packing | GB/s | copy GB/s |"
      " of copy | peak | planned | huge pages |\n"
      "| ------: | ---------: | ---------: | -------: | -------------------: | -------: |"
      " ---: | --------: | ------: | ---------: | ---------: | ---------: |\n"
      "| 2 | 381.47 MiB | 400.54 MiB | 400.0 ms | 300.0 ms .. 500.0 ms | 250.0 ms | 1.60 |"
      " 2.00 | 90.0 % | 429.15 MiB | 476.84 MiB | 2.00 MiB |\n"
      "\n"
      "| threads | shards | groups | memory | weights | KV | activations | scratch | logits |\n"
      "| ------: | -----: | -----: | --------: | -------: | -------: | ----------: |"
      " -------: | -------: |\n"
      "| 2 | 1 | 1 | 15.00 MiB | 1.00 MiB | 2.00 MiB | 3.00 MiB | 4.00 MiB | 5.00 MiB |\n");
  for (LoadRepetition& repetition : told.runs[0].loads->repetitions) repetition.peak_bytes.reset();
  EXPECT_NE(squeezed(markdown(told)).find("| 90.0 % | - | 476.84 MiB |"), std::string::npos);
}

TEST(LoadReport, Csv) {
  EXPECT_EQ(csv(load_report()),
            "version,time,cpu,steal_share,others_share,interrupted,threads,isa,model,architecture,"
            "type,parameters,file_bytes,kv_type,shards,interleaved,matrix_bytes,packed_bytes,"
            "repetitions,seconds,seconds_min,seconds_max,packing_seconds,copying_seconds,"
            "packed_gb_per_second,copied_gb_per_second,share_of_copy,peak_bytes,planned_bytes,"
            "huge_page_bytes,copy_huge_page_bytes\n"
            "1.2.3,2030-01-02T03:04:05Z,Some CPU,0.01,0.25,false,2,avx512,m.gguf,llama,q8_0,"
            "1500000000,3145728,f16,1,false,400000000,420000000,3,0.4,0.3,0.5,0.25,0.2,1.6,2,0.9,"
            "450000000,500000000,2097152,6291456\n");
}

TEST(LoadReport, JsonHasNullForUnknownFigures) {
  std::string told = json(load_report());
  EXPECT_NE(told.find("\"loads\":{\"matrix_bytes\":400000000,\"packed_bytes\":420000000,"
                      "\"seconds\":{\"median\":0.4,\"min\":0.3,\"max\":0.5,\"relative\":0.5},"),
            std::string::npos)
      << told;
  EXPECT_NE(told.find("\"copying_seconds\":0.25,\"peak_bytes\":null}]}}],\"notes\":[]}\n"),
            std::string::npos)
      << told;
}

}  // namespace
}  // namespace hearth
