// HEARTH_UNROLL stands before a loop over the registers of a tile and unrolls it whole, so that the
// tile lives in registers and not in an array in memory.
//
// HEARTH_UNROLL_FOUR takes four turns of a loop at once, so that its counting is in the way of
// nothing.
#pragma once

#if defined(__clang__)
#define HEARTH_UNROLL _Pragma("clang loop unroll(full)")
#define HEARTH_UNROLL_FOUR _Pragma("clang loop unroll_count(4)")
#else
#define HEARTH_UNROLL _Pragma("GCC unroll 32")
#define HEARTH_UNROLL_FOUR _Pragma("GCC unroll 4")
#endif
