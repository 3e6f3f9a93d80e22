// Loops that measure the limits of one core: loops of nothing but a multiply-add instruction, or of
// nothing but loads. `hearth bench` and the kernels' benchmarks compare every rate with them.
//
// There is one loop for each arithmetic unit that products may run on. It uses the instructions
// that the kernels of the level use on that unit: those of GEMM, and for int16 dot those of
// attention over q8_0.
//
//   unit      reference       avx2, avx512bw                  avxvnni, avx512   amx         neon
//   f32 fma   multiply, add   vfmadd                          vfmadd            vfmadd      fmla
//   bf16 dot  -               -                               -                 tdpbf16ps   -
//   int8 dot  multiply, add   vpmaddubsw, vpmaddwd, vpaddd    vpdpbusd          tdpbssd     sdot
//   int16 dot multiply, add   vpmaddwd, vpaddd                vpdpwssd          vpdpwssd    smlal
//
// The levels in no column add one unit to the level below: avx512bf16 vdpbf16ps, i8mm smmla,
// i8mmbf16 bfmmla.
//
// Enough independent chains run side by side to hide the instruction's latency. An addition and a
// multiplication are two operations.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/quantize/quantize.h"

namespace hearth {

enum class ArithmeticUnit : uint8_t { kF32Fma, kBf16Dot, kInt8Dot, kInt16Dot };
inline constexpr size_t kArithmeticUnits = 4;
const char* arithmetic_unit_name(ArithmeticUnit unit);  // "int8 dot"

// Runs the instruction in `rounds` rounds and returns how many operations these are. Returns 0 at
// once if the level has no such instruction.
using UnitFn = double (*)(size_t rounds);

// The number of streams that a read loop reads side by side, like kernels that read several panels.
// On Sapphire Rapids eight streams of one core bring 1.4 times as much as one (15.6 to 11.1 GB/s),
// and more streams bring no more.
inline constexpr size_t kReadStreams = 8;
inline constexpr size_t kReadGranule = 64 * kReadStreams;

// Reads bytes [p, p + bytes), with prefetches that may go beyond the end. `bytes` is a multiple of
// kReadGranule. Returns the exclusive or of all 64-bit words, so that no compiler drops the loads.
using ReadFn = uint64_t (*)(const std::byte* p, size_t bytes);

struct LimitLoops {
  std::array<UnitFn, kArithmeticUnits> unit;  // by arithmetic unit
  ReadFn read;
};

// Whether a level has each arithmetic unit.
using ArithmeticUnitSet = std::array<bool, kArithmeticUnits>;
ArithmeticUnitSet units_of(const LimitLoops& loops);

// Returns the unit that multiplies activations of `format`. It is FP32 FMA if the level lacks that
// unit, since the level's kernels then use FMA.
ArithmeticUnit arithmetic_unit_for(ActFormat format, const ArithmeticUnitSet& units);

}  // namespace hearth
