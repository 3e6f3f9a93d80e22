#include "bench/kernel_report.h"

#include <gtest/gtest.h>

#include "bench/report.h"
#include "bench/test_report.h"

namespace hearth {
namespace {

LimitSample limit() {
  LimitSample sample;
  sample.read = 20e9;
  sample.ops = {200e9, 100e9, 800e9, 400e9};
  return sample;
}

KernelResult gemv() {
  KernelResult result;
  result.shape = {4096, 2560, weight_type(DType::kF32), "q"};
  result.m = 1;
  result.rows = 4096;
  result.k = 2560;
  result.copies = 11;
  result.bytes = 40'000'000;
  result.seconds = {5e-3, 4e-3, 2.5e-3};
  result.others = {{"OneLib", "sgemv Some", {6e-3, 8e-3, 5e-3}}, {"other", "brg:some", {}}};
  return result;
}

KernelResult gemm() {
  KernelResult result = gemv();
  result.shape = {151936, 2560, weight_type(DType::kQ8_0), "head"};
  result.m = 512;
  result.rows = 16000;
  result.unit = ArithmeticUnit::kInt8Dot;
  result.seconds = {0.1};
  result.others.clear();
  return result;
}

TEST(KernelFigures, RatesAndShares) {
  KernelFigures f = kernel_figures(gemv(), limit());
  EXPECT_DOUBLE_EQ(f.seconds, 4e-3);
  EXPECT_DOUBLE_EQ(f.bytes_per_second, 10e9);
  EXPECT_DOUBLE_EQ(f.read_share, 0.5);
  EXPECT_DOUBLE_EQ(f.ops_per_second, 2.0 * 4096 * 2560 / 4e-3);
  EXPECT_DOUBLE_EQ(f.peak_share, f.ops_per_second / 200e9);
  EXPECT_TRUE(f.bound_by_reading);
  f = kernel_figures(gemm(), limit());
  EXPECT_DOUBLE_EQ(f.ops_per_second, 2.0 * 512 * 16000 * 2560 / 0.1);
  EXPECT_DOUBLE_EQ(f.peak_share, f.ops_per_second / 800e9);
  EXPECT_FALSE(f.bound_by_reading);
}

TEST(KernelFigures, ShareOfAContender) {
  KernelResult result = gemv();
  ContenderShare share = share_of(result, result.others[0]);
  EXPECT_DOUBLE_EQ(share.median, 1.5);
  EXPECT_DOUBLE_EQ(share.best, 2);
}

BenchReport report() {
  BenchReport report = sample_report("Some CPU", 3);
  report.model = sample_model();
  report.measured = Measured::kKernels;
  report.isa = Isa::kAvx512;
  report.contenders = {"OneLib", "other"};
  BenchRun run;
  run.threads = 2;
  run.buffer = {64 << 20, 64 << 20, 0};
  run.limits = {{Isa::kAvx512, limit(), {limit()}}};
  KernelResult nothing = gemm();
  nothing.seconds.clear();
  run.kernels = {gemv(), gemm(), nothing};
  report.runs.push_back(run);
  return report;
}

TEST(KernelReport, Markdown) {
  EXPECT_EQ(squeezed(markdown(report())),
            "m.gguf: llama, q8_0, 1.50 B parameters, 3.00 MiB; avx512 kernels alone\n"
            "Some CPU; CPU time stolen 1.0 %, others' 25.0 %; 3 repetitions\n"
            "\n"
            "| threads | type | matrix | rows x k | m | time | rate | share | of | of OneLib |"
            " of other |\n"
            "| ------: | ---: | -----: | --------------------------: | --: | -------: | --------: |"
            " -----: | -------: | --------: | -------: |\n"
            "| 2 | f32 | q | 4096 x 2560 | 1 | 4.0 ms | 10.0 GB/s | 50.0 % | read | 150.0 % |"
            " - |\n"
            "| 2 | q8_0 | head | 151936 x 2560 (16000 of it) | 512 | 100.0 ms | 419 GOPS | 52.4 % |"
            " int8 dot | - | - |\n"
            "\n"
            "| threads | kernels | read GB/s | f32 fma GOPS | bf16 dot GOPS | int8 dot GOPS |"
            " int16 dot GOPS | best of | read over |\n"
            "| ------: | ------: | --------: | -----------: | ------------: | ------------: |"
            " -------------: | ------: | --------: |\n"
            "| 2 | avx512 | 20.0 | 200 | 100 | 800 | 400 | 1 | 64.00 MiB |\n");
}

TEST(KernelReport, Csv) {
  EXPECT_EQ(csv(report()),
            "version,time,cpu,steal_share,others_share,interrupted,threads,isa,model,weight_type,"
            "roles,rows,k,measured_rows,m,copies,bytes,repetitions,seconds,gb_per_second,"
            "read_share,gops,unit,peak_share,onelib_seconds,share_of_onelib,other_seconds,"
            "share_of_other\n"
            "1.2.3,2030-01-02T03:04:05Z,Some CPU,0.01,0.25,false,2,avx512,m.gguf,f32,q,4096,2560,"
            "4096,1,11,40000000,3,0.004,10,0.5,5.24288,f32 fma,0.0262144,0.006,1.5,,\n"
            "1.2.3,2030-01-02T03:04:05Z,Some CPU,0.01,0.25,false,2,avx512,m.gguf,q8_0,head,151936,"
            "2560,16000,512,11,40000000,1,0.1,0.4,0.02,419.43,int8 dot,0.524288,,,,\n");
}

TEST(KernelReport, Json) {
  std::string told = json(report());
  EXPECT_NE(told.find("{\"type\":\"f32\",\"roles\":\"q\",\"rows\":4096,\"k\":2560,"),
            std::string::npos);
  EXPECT_NE(told.find("\"bound\":\"reading\",\"against\":[{\"library\":\"OneLib\","
                      "\"implementation\":\"sgemv Some\",\"seconds\":[0.006,0.008,0.005],"
                      "\"median_seconds\":0.006,\"min_seconds\":0.005,\"share\":1.5,"
                      "\"best_share\":2.0}]}"),
            std::string::npos)
      << told;
  EXPECT_NE(told.find("\"bound\":\"arithmetic\",\"against\":[]}]"), std::string::npos) << told;
}

TEST(KernelReport, LeavesOutColumnsWithoutContenders) {
  BenchReport alone = report();
  alone.contenders.clear();
  EXPECT_EQ(markdown(alone).find("OneLib"), std::string::npos);
  EXPECT_NE(csv(alone).find("unit,peak_share\n"), std::string::npos);
}

}  // namespace
}  // namespace hearth
