#include "topology/cpu_features.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "base/error.h"

namespace hearth {
namespace {

CpuFeatures arm() {
  CpuFeatures features;
  features.arch = Arch::kArm;
  return features;
}

CpuFeatures haswell() {
  CpuFeatures features;
  features.arch = Arch::kX86;
  features.avx2 = features.fma = features.f16c = true;
  return features;
}

CpuFeatures alder_lake() {
  CpuFeatures features = haswell();
  features.avx_vnni = true;
  return features;
}

CpuFeatures skylake_sp() {
  CpuFeatures features = haswell();
  features.avx512f = features.avx512bw = features.avx512vl = features.avx512dq = true;
  return features;
}

CpuFeatures cascade_lake() {
  CpuFeatures features = skylake_sp();
  features.avx512vnni = true;
  return features;
}

CpuFeatures ice_lake_sp() {
  CpuFeatures features = cascade_lake();
  features.avx512vbmi = true;
  return features;
}

CpuFeatures cooper_lake() {
  CpuFeatures features = cascade_lake();
  features.avx512bf16 = true;
  return features;
}

CpuFeatures zen4() {
  CpuFeatures features = ice_lake_sp();
  features.avx512bf16 = true;
  return features;
}

CpuFeatures zen5() {
  CpuFeatures features = zen4();
  features.avx_vnni = true;
  return features;
}

CpuFeatures sapphire_rapids() {
  CpuFeatures features = zen5();
  features.amx_int8 = features.amx_bf16 = true;
  return features;
}

// Returns an Emerald Rapids whose hypervisor hides the features that are newer than Ice Lake's.
CpuFeatures masked_emerald_rapids() {
  CpuFeatures features = sapphire_rapids();
  features.amx_int8 = features.amx_bf16 = features.avx512bf16 = features.avx_vnni = false;
  return features;
}

// Neoverse N1, in Altra and Graviton 2. Kunpeng 920 has the same subset of these features.
CpuFeatures neoverse_n1() {
  CpuFeatures features = arm();
  features.neon_fp16 = features.neon_dotprod = true;
  return features;
}

// Neoverse V1, N2 and V2: Graviton 3, Yitian 710, Graviton 4.
CpuFeatures neoverse_v1() {
  CpuFeatures features = neoverse_n1();
  features.neon_i8mm = features.neon_bf16 = features.sve = true;
  return features;
}

struct Known {
  const char* name;
  CpuFeatures features;
  Isa level;
};

// Returns processors with their features and levels. The features are those that GCC 12's -march
// gives a processor. For Zen 4 and 5, Sierra Forest, Granite Rapids and the ARM processors they are
// those that were published.
const std::vector<Known>& processors() {
  static const std::vector<Known> list = {
      {"Haswell", haswell(), Isa::kAvx2},
      {"Zen 2", haswell(), Isa::kAvx2},
      {"Zen 3", haswell(), Isa::kAvx2},
      {"Alder Lake", alder_lake(), Isa::kAvxVnni},
      {"Sierra Forest", alder_lake(), Isa::kAvxVnni},
      {"Skylake-SP", skylake_sp(), Isa::kAvx512Bw},
      {"Cascade Lake", cascade_lake(), Isa::kAvx512},
      {"Ice Lake-SP", ice_lake_sp(), Isa::kAvx512},
      {"Tiger Lake", ice_lake_sp(), Isa::kAvx512},
      {"Emerald Rapids, masked", masked_emerald_rapids(), Isa::kAvx512},
      {"Cooper Lake", cooper_lake(), Isa::kAvx512Bf16},
      {"Zen 4", zen4(), Isa::kAvx512Bf16},
      {"Zen 5", zen5(), Isa::kAvx512Bf16},
      {"Sapphire Rapids", sapphire_rapids(), Isa::kAmx},
      {"Emerald Rapids", sapphire_rapids(), Isa::kAmx},
      {"Granite Rapids", sapphire_rapids(), Isa::kAmx},
      {"Kunpeng 920", neoverse_n1(), Isa::kNeon},
      {"Altra", neoverse_n1(), Isa::kNeon},
      {"Graviton 2", neoverse_n1(), Isa::kNeon},
      {"Graviton 3", neoverse_v1(), Isa::kI8mmBf16},
      {"Yitian 710", neoverse_v1(), Isa::kI8mmBf16},
      {"Graviton 4", neoverse_v1(), Isa::kI8mmBf16},
  };
  return list;
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

TEST(CpuFeaturesTest, LevelsOfProcessors) {
  EXPECT_GE(processors().size(), 20u);
  for (const Known& each : processors()) {
    EXPECT_EQ(best_isa(each.features), each.level)
        << each.name << isa_name(best_isa(each.features));
    EXPECT_TRUE(missing_for(each.level, each.features).empty()) << each.name;
  }
}

TEST(CpuFeaturesTest, ALevelNeedsAllItsFeaturesAndThoseBelow) {
  const Isa below[] = {Isa::kReference, Isa::kReference, Isa::kAvx2,       Isa::kAvx2,
                       Isa::kAvx512Bw,  Isa::kAvx512,    Isa::kAvx512Bf16, Isa::kReference,
                       Isa::kNeon,      Isa::kI8mm};
  ASSERT_EQ(std::size(below), all_isas().size());
  for (const Known& each : processors()) {
    if (each.level == Isa::kAvx2 || each.level == Isa::kNeon) continue;
    for (Isa isa = each.level; isa != Isa::kReference; isa = below[static_cast<size_t>(isa)]) {
      EXPECT_TRUE(missing_for(isa, each.features).empty()) << each.name << isa_name(isa);
    }
  }
  for (bool CpuFeatures::*part : {&CpuFeatures::amx_int8, &CpuFeatures::amx_bf16}) {
    CpuFeatures features = sapphire_rapids();
    features.*part = false;
    EXPECT_EQ(best_isa(features), Isa::kAvx512Bf16);
  }
  CpuFeatures features = sapphire_rapids();
  features.avx512bf16 = false;
  EXPECT_EQ(best_isa(features), Isa::kAvx512);
  features.avx512vnni = false;
  EXPECT_EQ(best_isa(features), Isa::kAvx512Bw);
  for (bool CpuFeatures::*part : {&CpuFeatures::avx512f, &CpuFeatures::avx512bw,
                                  &CpuFeatures::avx512vl, &CpuFeatures::avx512dq}) {
    features = zen5();
    features.*part = false;
    EXPECT_EQ(best_isa(features), Isa::kAvxVnni);
  }
  features = neoverse_v1();
  features.neon_i8mm = false;
  EXPECT_EQ(best_isa(features), Isa::kNeon);
  features = neoverse_v1();
  features.neon_bf16 = false;
  EXPECT_EQ(best_isa(features), Isa::kI8mm);
}

TEST(CpuFeaturesTest, NamesAreOneEach) {
  std::set<std::string> names;
  for (Isa isa : all_isas()) names.insert(isa_name(isa));
  EXPECT_EQ(names.size(), all_isas().size());
  // The names of the oldest levels stay valid, although other levels were added between them.
  for (const char* name : {"reference", "avx2", "avx512", "amx", "neon"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST(CpuFeaturesTest, NamesFeaturesThatHigherLevelsLack) {
  const std::string does_not = ": this processor, or its hypervisor, does not show ";
  using Lines = std::vector<std::string>;
  EXPECT_EQ(lacking_text(Isa::kAvx512, masked_emerald_rapids()),
            (Lines{"avx512bf16" + does_not + "avx512_bf16"}));
  EXPECT_EQ(lacking_text(Isa::kAvx2, haswell()),
            (Lines{"avxvnni" + does_not + "avx_vnni",
                   "avx512bw" + does_not + "avx512f, avx512bw, avx512vl, avx512dq"}));
  EXPECT_EQ(lacking_text(Isa::kAvx512Bf16, zen5()),
            (Lines{"amx" + does_not + "amx_int8, amx_bf16"}));
  EXPECT_EQ(lacking_text(Isa::kNeon, neoverse_n1()), (Lines{"i8mm" + does_not + "i8mm"}));
  EXPECT_EQ(lacking_text(Isa::kAmx, sapphire_rapids()), Lines{});
  // If a level is forced, the lines name levels that cannot run, not faster levels that can.
  EXPECT_EQ(lacking_text(Isa::kAvx2, zen5()), (Lines{"amx" + does_not + "amx_int8, amx_bf16"}));
}

TEST(CpuFeaturesTest, LevelsThatMultiplyBf16) {
  for (Isa isa : all_isas()) {
    EXPECT_EQ(multiplies_bf16(isa),
              isa == Isa::kAvx512Bf16 || isa == Isa::kAmx || isa == Isa::kI8mmBf16);
  }
}

TEST(CpuFeaturesTest, TooOldIsRefusedByName) {
  CpuFeatures sandy_bridge;
  sandy_bridge.arch = Arch::kX86;
  expect_error(ErrorCode::kUnsupported, {"avx2, fma, f16c", "HEARTH_ISA=reference"},
               [&] { best_isa(sandy_bridge); });
  CpuFeatures cortex_a72;
  cortex_a72.arch = Arch::kArm;
  expect_error(ErrorCode::kUnsupported, {"asimdhp, asimddp", "neon"},
               [&] { best_isa(cortex_a72); });
  expect_error(ErrorCode::kUnsupported, {"neither"}, [] { best_isa(CpuFeatures{}); });
  EXPECT_EQ(choose_isa(sandy_bridge, "reference"), Isa::kReference);
  EXPECT_EQ(choose_isa(CpuFeatures{}, "reference"), Isa::kReference);
}

TEST(CpuFeaturesTest, ForcedLevel) {
  EXPECT_EQ(choose_isa(zen4(), nullptr), Isa::kAvx512Bf16);
  EXPECT_EQ(choose_isa(zen4(), ""), Isa::kAvx512Bf16);
  EXPECT_EQ(choose_isa(zen4(), "avx2"), Isa::kAvx2);
  expect_error(ErrorCode::kUnsupported,
               {"HEARTH_ISA=avx512", "avx512_vnni", "available", "reference, avx2"},
               [] { choose_isa(haswell(), "avx512"); });
  expect_error(ErrorCode::kUnsupported, {"HEARTH_ISA=neon", "an ARM processor", "reference, avx2"},
               [] { choose_isa(haswell(), "neon"); });
  expect_error(ErrorCode::kUsage,
               {"HEARTH_ISA=AVX2", "reference, avx2, avx512bw, avx512, avx512bf16"},
               [] { choose_isa(zen4(), "AVX2"); });
}

TEST(CpuFeaturesTest, ThisProcessor) {
  CpuFeatures features = detect_cpu_features();
#if defined(__x86_64__)
  EXPECT_EQ(features.arch, Arch::kX86);
  // The compiler's runtime detects the same features.
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
