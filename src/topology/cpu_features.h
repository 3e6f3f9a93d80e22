// Finds which instruction sets this processor and its operating system offer, and chooses the level
// of kernels. A level is a fixed set of features, for which the kernel files of that level are
// compiled. Most levels are based on another level and add features to it:
//
//   reference   plain C++, on any processor; only ever chosen by force
//   avx2        AVX2, FMA, F16C
//   avxvnni     avx2 and AVX-VNNI
//   avx512bw    avx2 and AVX-512 F, BW, VL, DQ
//   avx512      avx512bw and AVX-512 VNNI
//   avx512bf16  avx512 and AVX-512 BF16
//   amx         avx512bf16 and AMX INT8, BF16
//   neon        AArch64 with dot product and half-precision arithmetic
//   i8mm        neon and I8MM
//   i8mmbf16    i8mm and BF16
//
// A feature has the name that Linux gives it (/proc/cpuinfo): asimdhp is ARM's half-precision
// arithmetic, asimddp its dot product. x86: CPUID leaves 1, 7.0, 7.1 and XGETBV (Intel SDM volume
// 1, 13.2 and 14.3), and for AMX the kernel's permission, arch_prctl(2). ARM: getauxval(3).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hearth {

enum class Isa {
  kReference,
  kAvx2,
  kAvxVnni,
  kAvx512Bw,
  kAvx512,
  kAvx512Bf16,
  kAmx,
  kNeon,
  kI8mm,
  kI8mmBf16
};

enum class Arch { kX86, kArm, kOther };

// A feature counts only if the operating system saves the registers that it uses.
struct CpuFeatures {
  Arch arch = Arch::kOther;
  bool avx2 = false, fma = false, f16c = false;
  bool avx512f = false, avx512bw = false, avx512vl = false, avx512dq = false;
  bool avx512vnni = false, avx512bf16 = false, avx512vbmi = false;
  bool avx_vnni = false, amx_int8 = false, amx_bf16 = false;
  bool neon_fp16 = false, neon_dotprod = false, neon_i8mm = false, neon_bf16 = false, sve = false;
};

// Returns the features. If there are AMX registers, asks for the permission to use them, since
// without it their use faults. The permission holds for all threads of the process.
CpuFeatures detect_cpu_features();

// Returns all levels, on each architecture slower ones before faster ones.
std::span<const Isa> all_isas();

const char* isa_name(Isa isa);  // "avx512bf16"

// Returns the level that `isa` adds features to; for the reference, the reference itself.
Isa base_of(Isa isa);

// Returns whether the level multiplies BF16 and FP8 weights by bf16 instructions. These add in
// another order and with other roundings than the chain of fused multiply-adds of all other levels
// (kernels/gemm/gemm.h).
bool multiplies_bf16(Isa isa);

// Returns the names of the features that `isa` needs and `features` lacks; empty if the level can
// run. For a level of another architecture the result names that architecture.
std::vector<std::string> missing_for(Isa isa, const CpuFeatures& features);

// Returns the levels that can run here, slowest first; the reference is always among them.
std::vector<Isa> available_isas(const CpuFeatures& features);

// Returns the fastest level that can run. Throws kUnsupported, naming the missing features, if that
// would be the reference, which is only for checking.
Isa best_isa(const CpuFeatures& features);

// Returns best_isa(), or the level named by `forced` (the value of HEARTH_ISA; null or empty: not
// forced). Throws kUsage for an unknown name, kUnsupported for a level that cannot run here; both
// name the levels that can.
Isa choose_isa(const CpuFeatures& features, const char* forced);

// Returns a line for each level above `running` that is based on a level that can run here, with
// the features that this processor lacks for it, such as "avx512bf16: this processor, or its
// hypervisor, does not show avx512_bf16". Empty if there is no such level.
std::vector<std::string> lacking_text(Isa running, const CpuFeatures& features);

// Returns the features found, for people: "avx2 fma f16c ...".
std::string features_text(const CpuFeatures& features);

}  // namespace hearth
