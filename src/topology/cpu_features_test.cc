#include "topology/cpu_features.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace hearth {
namespace {

CpuFeatures haswell() {
  CpuFeatures features;
  features.arch = Arch::kX86;
  features.avx2 = features.fma = features.f16c = true;
  return features;
}

CpuFeatures zen4() {
  CpuFeatures features = haswell();
  features.avx512f = features.avx512bw = features.avx512vl = features.avx512dq = true;
  features.avx512vnni = features.avx512bf16 = features.avx512vbmi = true;
  return features;
}

CpuFeatures sapphire_rapids() {
  CpuFeatures features = zen4();
  features.amx_int8 = features.amx_bf16 = true;
  return features;
}

CpuFeatures kunpeng920() {
  CpuFeatures features;
  features.arch = Arch::kArm;
  features.neon_fp16 = features.neon_dotprod = true;
  return features;
}

template <typename Make>
void expect_error(ErrorCode code, std::initializer_list<const char*> parts, const Make& make) {
  try {
    make();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    for (const char* part : parts) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
          << error.what() << " does not say " << part;
    }
  }
}

TEST(CpuFeaturesTest, BestLevel) {
  EXPECT_EQ(best_isa(haswell()), Isa::kAvx2);
  EXPECT_EQ(best_isa(zen4()), Isa::kAvx512);
  EXPECT_EQ(best_isa(sapphire_rapids()), Isa::kAmx);
  EXPECT_EQ(best_isa(kunpeng920()), Isa::kNeon);
}

TEST(CpuFeaturesTest, AmxNeedsAllItsPartsAndAvx512) {
  for (bool CpuFeatures::*part : {&CpuFeatures::amx_int8, &CpuFeatures::amx_bf16}) {
    CpuFeatures features = sapphire_rapids();
    features.*part = false;
    EXPECT_EQ(best_isa(features), Isa::kAvx512);
  }
  CpuFeatures features = sapphire_rapids();
  features.avx512bf16 = false;
  EXPECT_EQ(best_isa(features), Isa::kAvx2);
}

TEST(CpuFeaturesTest, Avx512NeedsAllItsParts) {
  for (bool CpuFeatures::*part :
       {&CpuFeatures::avx512f, &CpuFeatures::avx512bw, &CpuFeatures::avx512vl,
        &CpuFeatures::avx512dq, &CpuFeatures::avx512vnni, &CpuFeatures::avx512bf16}) {
    CpuFeatures features = zen4();
    features.*part = false;
    EXPECT_EQ(best_isa(features), Isa::kAvx2);
  }
  CpuFeatures features = zen4();
  features.avx512vbmi = false;
  EXPECT_EQ(best_isa(features), Isa::kAvx512);
}

TEST(CpuFeaturesTest, TooOldIsRefusedByName) {
  CpuFeatures sandy_bridge;
  sandy_bridge.arch = Arch::kX86;
  expect_error(ErrorCode::kUnsupported, {"avx2, fma, f16c", "HEARTH_ISA=reference"},
               [&] { best_isa(sandy_bridge); });
  CpuFeatures cortex_a72;
  cortex_a72.arch = Arch::kArm;
  expect_error(ErrorCode::kUnsupported, {"dotprod", "neon"}, [&] { best_isa(cortex_a72); });
  expect_error(ErrorCode::kUnsupported, {"neither"}, [] { best_isa(CpuFeatures{}); });
  EXPECT_EQ(choose_isa(sandy_bridge, "reference"), Isa::kReference);
  EXPECT_EQ(choose_isa(CpuFeatures{}, "reference"), Isa::kReference);
}

TEST(CpuFeaturesTest, ForcedLevel) {
  EXPECT_EQ(choose_isa(zen4(), nullptr), Isa::kAvx512);
  EXPECT_EQ(choose_isa(zen4(), ""), Isa::kAvx512);
  EXPECT_EQ(choose_isa(zen4(), "avx2"), Isa::kAvx2);
  expect_error(ErrorCode::kUnsupported,
               {"HEARTH_ISA=avx512", "avx512bf16", "available", "reference, avx2"},
               [] { choose_isa(haswell(), "avx512"); });
  expect_error(ErrorCode::kUnsupported, {"HEARTH_ISA=neon", "an ARM processor", "reference, avx2"},
               [] { choose_isa(haswell(), "neon"); });
  expect_error(ErrorCode::kUsage, {"HEARTH_ISA=AVX2", "reference, avx2, avx512"},
               [] { choose_isa(zen4(), "AVX2"); });
}

TEST(CpuFeaturesTest, ThisProcessor) {
  CpuFeatures features = detect_cpu_features();
#if defined(__x86_64__)
  EXPECT_EQ(features.arch, Arch::kX86);
  // The compiler's runtime asks the same questions.
  __builtin_cpu_init();
  EXPECT_EQ(features.avx2, __builtin_cpu_supports("avx2") != 0);
  EXPECT_EQ(features.fma, __builtin_cpu_supports("fma") != 0);
  EXPECT_EQ(features.avx512f, __builtin_cpu_supports("avx512f") != 0);
  EXPECT_EQ(features.avx512bw, __builtin_cpu_supports("avx512bw") != 0);
  EXPECT_EQ(features.avx512vl, __builtin_cpu_supports("avx512vl") != 0);
  EXPECT_EQ(features.avx512dq, __builtin_cpu_supports("avx512dq") != 0);
  EXPECT_EQ(features.avx512vbmi, __builtin_cpu_supports("avx512vbmi") != 0);
  EXPECT_EQ(features.avx512vnni, __builtin_cpu_supports("avx512vnni") != 0);
  EXPECT_EQ(features.avx512bf16, __builtin_cpu_supports("avx512bf16") != 0);
#elif defined(__aarch64__)
  EXPECT_EQ(features.arch, Arch::kArm);
#endif
  EXPECT_EQ(available_isas(features).front(), Isa::kReference);
}

}  // namespace
}  // namespace hearth
