#include "topology/cpu_features.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/error.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace hearth {
namespace {

using Flag = bool CpuFeatures::*;

struct Feature {
  const char* name;
  Flag flag;
};

constexpr Feature kAllFeatures[] = {
    {"avx2", &CpuFeatures::avx2},
    {"fma", &CpuFeatures::fma},
    {"f16c", &CpuFeatures::f16c},
    {"avx512f", &CpuFeatures::avx512f},
    {"avx512bw", &CpuFeatures::avx512bw},
    {"avx512vl", &CpuFeatures::avx512vl},
    {"avx512dq", &CpuFeatures::avx512dq},
    {"avx512_vnni", &CpuFeatures::avx512vnni},
    {"avx512_bf16", &CpuFeatures::avx512bf16},
    {"avx512vbmi", &CpuFeatures::avx512vbmi},
    {"avx_vnni", &CpuFeatures::avx_vnni},
    {"amx_int8", &CpuFeatures::amx_int8},
    {"amx_bf16", &CpuFeatures::amx_bf16},
    {"asimdhp", &CpuFeatures::neon_fp16},
    {"asimddp", &CpuFeatures::neon_dotprod},
    {"i8mm", &CpuFeatures::neon_i8mm},
    {"bf16", &CpuFeatures::neon_bf16},
    {"sve", &CpuFeatures::sve},
};

// A level, the level that it is based on, and the features that it adds to those of that level.
struct Level {
  Isa isa;
  const char* name;
  Arch arch;
  Isa base;
  std::array<Flag, 4> adds;  // null behind the last one
};

using F = CpuFeatures;
constexpr Level kLevels[] = {
    {Isa::kReference, "reference", Arch::kOther, Isa::kReference, {}},
    {Isa::kAvx2, "avx2", Arch::kX86, Isa::kReference, {&F::avx2, &F::fma, &F::f16c}},
    {Isa::kAvxVnni, "avxvnni", Arch::kX86, Isa::kAvx2, {&F::avx_vnni}},
    {Isa::kAvx512Bw,
     "avx512bw",
     Arch::kX86,
     Isa::kAvx2,
     {&F::avx512f, &F::avx512bw, &F::avx512vl, &F::avx512dq}},
    {Isa::kAvx512, "avx512", Arch::kX86, Isa::kAvx512Bw, {&F::avx512vnni}},
    {Isa::kAvx512Bf16, "avx512bf16", Arch::kX86, Isa::kAvx512, {&F::avx512bf16}},
    {Isa::kAmx, "amx", Arch::kX86, Isa::kAvx512Bf16, {&F::amx_int8, &F::amx_bf16}},
    {Isa::kNeon, "neon", Arch::kArm, Isa::kReference, {&F::neon_fp16, &F::neon_dotprod}},
    {Isa::kI8mm, "i8mm", Arch::kArm, Isa::kNeon, {&F::neon_i8mm}},
    {Isa::kI8mmBf16, "i8mmbf16", Arch::kArm, Isa::kI8mm, {&F::neon_bf16}},
};
constexpr size_t kLevelCount = std::size(kLevels);
static_assert(kLevelCount == static_cast<size_t>(Isa::kI8mmBf16) + 1);

constexpr std::array<Isa, kLevelCount> kAllIsas = [] {
  std::array<Isa, kLevelCount> isas{};
  for (size_t i = 0; i < kLevelCount; ++i) isas[i] = kLevels[i].isa;
  return isas;
}();

constexpr const Level& level_of(Isa isa) { return kLevels[static_cast<size_t>(isa)]; }

constexpr bool in_order() {
  for (const Level& level : kLevels) {
    if (level_of(level.isa).name != level.name || level.base > level.isa) return false;
  }
  return true;
}
static_assert(in_order());

bool needs(const Level& level, Flag flag) {
  if (level.isa == Isa::kReference) return false;
  return std::find(level.adds.begin(), level.adds.end(), flag) != level.adds.end() ||
         needs(level_of(level.base), flag);
}

std::string join(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string names_of(const std::vector<Isa>& isas) {
  std::vector<std::string> names;
  for (Isa isa : isas) names.emplace_back(isa_name(isa));
  return join(names);
}

#if defined(__x86_64__)
bool bit(uint32_t word, unsigned index) { return (word >> index & 1) != 0; }

// Returns XCR0: the registers that the operating system saves when it switches threads.
uint64_t saved_state() {
  uint32_t low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}

// Returns whether AMX's registers may be used; Linux grants them on request
// (Documentation/x86/xstate.rst).
bool may_use_tiles() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

CpuFeatures detect() {
  CpuFeatures found;
  found.arch = Arch::kX86;
  uint32_t a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return found;
  bool os_saves = bit(c, 27);
  uint64_t saved = os_saves ? saved_state() : 0;
  constexpr uint64_t kYmm = 0x6, kZmm = 0xe6, kTiles = 0x60000;
  bool ymm = (saved & kYmm) == kYmm, zmm = (saved & kZmm) == kZmm;
  bool tiles = (saved & kTiles) == kTiles && may_use_tiles();
  found.fma = ymm && bit(c, 12);
  found.f16c = ymm && bit(c, 29);
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return found;
  uint32_t last_subleaf = a;
  found.avx2 = ymm && bit(b, 5);
  found.avx512f = zmm && bit(b, 16);
  found.avx512dq = zmm && bit(b, 17);
  found.avx512bw = zmm && bit(b, 30);
  found.avx512vl = zmm && bit(b, 31);
  found.avx512vbmi = zmm && bit(c, 1);
  found.avx512vnni = zmm && bit(c, 11);
  found.amx_bf16 = tiles && bit(d, 22);
  found.amx_int8 = tiles && bit(d, 25);
  if (last_subleaf < 1 || __get_cpuid_count(7, 1, &a, &b, &c, &d) == 0) return found;
  found.avx_vnni = ymm && bit(a, 4);
  found.avx512bf16 = zmm && bit(a, 5);
  return found;
}
#elif defined(__aarch64__)
CpuFeatures detect() {
  CpuFeatures found;
  found.arch = Arch::kArm;
  unsigned long words = getauxval(AT_HWCAP);
  unsigned long more = getauxval(AT_HWCAP2);
  found.neon_fp16 = (words & HWCAP_ASIMDHP) != 0;
  found.neon_dotprod = (words & HWCAP_ASIMDDP) != 0;
  found.sve = (words & HWCAP_SVE) != 0;
  found.neon_i8mm = (more & HWCAP2_I8MM) != 0;
  found.neon_bf16 = (more & HWCAP2_BF16) != 0;
  return found;
}
#else
CpuFeatures detect() { return {}; }
#endif

}  // namespace

CpuFeatures detect_cpu_features() { return detect(); }

std::span<const Isa> all_isas() { return kAllIsas; }

const char* isa_name(Isa isa) { return level_of(isa).name; }

Isa base_of(Isa isa) { return level_of(isa).base; }

bool multiplies_bf16(Isa isa) {
  return needs(level_of(isa), &F::avx512bf16) || needs(level_of(isa), &F::neon_bf16);
}

std::vector<std::string> missing_for(Isa isa, const CpuFeatures& features) {
  const Level& level = level_of(isa);
  if (isa == Isa::kReference) return {};
  if (level.arch != features.arch)
    return {level.arch == Arch::kX86 ? "an x86-64 processor" : "an ARM processor"};
  std::vector<std::string> missing;
  for (const Feature& each : kAllFeatures) {
    if (needs(level, each.flag) && !(features.*each.flag)) missing.emplace_back(each.name);
  }
  return missing;
}

std::vector<std::string> lacking_text(Isa running, const CpuFeatures& features) {
  std::vector<std::string> lines;
  for (const Level& level : kLevels) {
    std::vector<std::string> missing = missing_for(level.isa, features);
    bool next = level.isa > running && level.arch == features.arch &&
                missing_for(level.base, features).empty();
    if (next && !missing.empty()) {
      lines.push_back(fmt::format("{}: this processor, or its hypervisor, does not show {}",
                                  level.name, join(missing)));
    }
  }
  return lines;
}

std::vector<Isa> available_isas(const CpuFeatures& features) {
  std::vector<Isa> isas;
  for (Isa isa : kAllIsas) {
    if (missing_for(isa, features).empty()) isas.push_back(isa);
  }
  return isas;
}

Isa best_isa(const CpuFeatures& features) {
  Isa best = available_isas(features).back();
  if (best != Isa::kReference) return best;
  if (features.arch == Arch::kOther) {
    fail(ErrorCode::kUnsupported,
         "this processor is neither x86-64 nor 64-bit ARM; HEARTH_ISA=reference runs anywhere, "
         "slowly");
  }
  Isa lowest = features.arch == Arch::kArm ? Isa::kNeon : Isa::kAvx2;
  fail(ErrorCode::kUnsupported,
       "this processor lacks {}, which the lowest level ({}) needs; HEARTH_ISA=reference runs "
       "anywhere, slowly",
       join(missing_for(lowest, features)), isa_name(lowest));
}

Isa choose_isa(const CpuFeatures& features, const char* forced) {
  if (forced == nullptr || *forced == '\0') return best_isa(features);
  std::string available = names_of(available_isas(features));
  for (Isa isa : kAllIsas) {
    if (std::string_view(forced) != isa_name(isa)) continue;
    std::vector<std::string> missing = missing_for(isa, features);
    if (missing.empty()) return isa;
    fail(ErrorCode::kUnsupported,
         "HEARTH_ISA={} cannot run on this processor, which lacks {}; available levels: {}", forced,
         join(missing), available);
  }
  fail(ErrorCode::kUsage,
       "HEARTH_ISA={} is not an instruction set level; levels available on this processor: {}",
       forced, available);
}

std::string features_text(const CpuFeatures& features) {
  std::vector<std::string> found;
  for (const Feature& each : kAllFeatures) {
    if (features.*each.flag) found.emplace_back(each.name);
  }
  return fmt::format("{}", fmt::join(found, " "));
}

}  // namespace hearth
