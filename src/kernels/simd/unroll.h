// HEARTH_UNROLL stands before a loop over the registers of a tile. It unrolls the loop completely,
// so that the tile lives in registers and not in an array in memory.
//
// HEARTH_UNROLL_FOUR unrolls a loop by four, so that counting costs little.
#pragma once

#if defined(__clang__)
#define HEARTH_UNROLL _Pragma("clang loop unroll(full)")
#define HEARTH_UNROLL_FOUR _Pragma("clang loop unroll_count(4)")
#else
#define HEARTH_UNROLL _Pragma("GCC unroll 32")
#define HEARTH_UNROLL_FOUR _Pragma("GCC unroll 4")
#endif
