// Finds which instruction sets this processor and its operating system offer, and chooses the level
// of kernels. A level is a fixed set of features that the kernel files of that level are compiled
// for:
//
//   reference  plain C++, on any processor; only ever chosen by force
//   avx2       AVX2, FMA, F16C
//   avx512     avx2 and AVX-512 F, BW, VL, DQ, VNNI, BF16
//   amx        avx512 and AMX INT8, BF16
//   neon       AArch64 with dot product and half-precision arithmetic
//
// x86: CPUID leaves 1, 7.0, 7.1 and XGETBV (Intel SDM volume 1, 13.2 and 14.3), and for AMX the
// kernel's permission, arch_prctl(2). ARM: getauxval(3).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hearth {

enum class Isa { kReference, kAvx2, kAvx512, kAmx, kNeon };

enum class Arch { kX86, kArm, kOther };

// A feature counts only where the operating system saves its registers.
struct CpuFeatures {
  Arch arch = Arch::kOther;
  bool avx2 = false, fma = false, f16c = false;
  bool avx512f = false, avx512bw = false, avx512vl = false, avx512dq = false;
  bool avx512vnni = false, avx512bf16 = false, avx512vbmi = false;
  bool avx_vnni = false, amx_int8 = false, amx_bf16 = false;
  bool neon_fp16 = false, neon_dotprod = false, neon_i8mm = false, neon_bf16 = false, sve = false;
};

// Asks for the permission to use AMX's registers where there are any: without it they fault. It
// holds for all threads of the process.
CpuFeatures detect_cpu_features();

// Returns "reference", "avx2", "avx512", "amx" or "neon".
const char* isa_name(Isa isa);

// Returns the names of the features that `isa` needs and `features` lacks; empty where the level
// can run. A level of another architecture lacks that architecture.
std::vector<std::string> missing_for(Isa isa, const CpuFeatures& features);

// Returns the levels that can run here, slowest first; the reference is always one.
std::vector<Isa> available_isas(const CpuFeatures& features);

// Returns the fastest level that can run. Throws kUnsupported, naming the missing features, where
// that would be the reference: it is for checking, not for use.
Isa best_isa(const CpuFeatures& features);

// Returns best_isa(), or the level named by `forced` (the value of HEARTH_ISA; null or empty: not
// forced). Throws kUsage for an unknown name, kUnsupported for a level that cannot run here; both
// name the levels that can.
Isa choose_isa(const CpuFeatures& features, const char* forced);

// Returns the features found, for people: "avx2 fma f16c ...".
std::string features_text(const CpuFeatures& features);

}  // namespace hearth
