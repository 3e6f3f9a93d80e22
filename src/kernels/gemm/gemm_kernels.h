// The table of GEMM kernels, one for each pack kind of tensor/pack_kind.h. Every ISA level has all
// of them. A line there makes the declarations below, the dispatch (kernels.cc), the tests and the
// benchmark. Each kernel is declared with its menu (schedule.h).
#pragma once

#include "kernels/gemm/gemm.h"

// X(PackKind, name, level) for each kernel gemm_<name>_<level>.
#define HEARTH_GEMM_KERNELS(X, level) HEARTH_PACK_KINDS(X, level)

#define HEARTH_INT8_GEMM_KERNELS(X, level) HEARTH_INT8_PACK_KINDS(X, level)

// AMX has kernels of its own only for these kinds.
#define HEARTH_AMX_GEMM_KERNELS(X, level) \
  X(kBF16, bf16, level)                   \
  HEARTH_INT8_GEMM_KERNELS(X, level)

// The kinds that are multiplied with activations in bf16.
#define HEARTH_BF16_GEMM_KERNELS(X, level) \
  X(kBF16, bf16, level)                    \
  HEARTH_FP8_PACK_KINDS(X, level)

namespace hearth {

#define HEARTH_DECLARE_GEMM(kind, name, level)      \
  void gemm_##name##_##level(const GemmArgs& args); \
  extern const GemmMenu menu_##name##_##level;
HEARTH_GEMM_KERNELS(HEARTH_DECLARE_GEMM, reference)
HEARTH_GEMM_KERNELS(HEARTH_DECLARE_GEMM, avx2)
HEARTH_GEMM_KERNELS(HEARTH_DECLARE_GEMM, avx512bw)
HEARTH_GEMM_KERNELS(HEARTH_DECLARE_GEMM, neon)
// These levels have their own kernels for some kinds, and take the kernels of all other kinds from
// the level below (kernels.cc).
HEARTH_INT8_GEMM_KERNELS(HEARTH_DECLARE_GEMM, avxvnni)
HEARTH_INT8_GEMM_KERNELS(HEARTH_DECLARE_GEMM, avx512)
HEARTH_BF16_GEMM_KERNELS(HEARTH_DECLARE_GEMM, avx512bf16)
HEARTH_AMX_GEMM_KERNELS(HEARTH_DECLARE_GEMM, amx)
HEARTH_INT8_GEMM_KERNELS(HEARTH_DECLARE_GEMM, i8mm)
HEARTH_BF16_GEMM_KERNELS(HEARTH_DECLARE_GEMM, i8mmbf16)
#undef HEARTH_DECLARE_GEMM

}  // namespace hearth
