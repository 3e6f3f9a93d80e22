// HEARTH_UNROLL stands before a loop over the registers of a tile and unrolls it whole, so that the
// tile lives in registers and not in an array in memory.
#pragma once

#if defined(__clang__)
#define HEARTH_UNROLL _Pragma("clang loop unroll(full)")
#else
#define HEARTH_UNROLL _Pragma("GCC unroll 32")
#endif
