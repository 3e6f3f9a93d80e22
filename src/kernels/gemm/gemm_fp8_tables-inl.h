// E4M3 to bf16 by tables of 16 bytes, as the byte shuffles of all ISA levels read them. Only the
// GEMM files of a level include this.
//
// A code is s ttt nnnn. For ttt > 0 the upper byte of the bf16 depends on s ttt alone and the lower
// one is nnnn << 4. For ttt = 0 (subnormals, and the lowest exponent) both are looked up by nnnn:
//   upper = kFp8Upper[s ttt] | (ttt == 0 ? kFp8UpperSmall[nnnn] : 0)
//   lower = nnnn << 4 ^ (ttt == 0 ? kFp8LowerSmall[nnnn] : 0)
// A shuffle gives 0 for an index with its top bit set, which serves the case ttt > 0. This decoding
// is exact for all codes but NaN, which becomes 480: the scales of rows with NaN are NaN.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/fp_types.h"

namespace hearth {
namespace {

using Fp8Table = std::array<uint8_t, 16>;

constexpr uint32_t fp8_as_bf16(uint32_t code) {
  return std::bit_cast<uint32_t>(e4m3_to_f32(static_cast<e4m3_t>(code))) >> 16;
}

template <typename Entry>
constexpr Fp8Table fp8_table(Entry entry) {
  Fp8Table table{};
  for (uint32_t i = 0; i < 16; ++i) table[i] = static_cast<uint8_t>(entry(i));
  return table;
}

alignas(16) constexpr Fp8Table kFp8Upper = fp8_table([](uint32_t i) {
  return i % 8 == 0 ? i << 4 : fp8_as_bf16(i << 4) >> 8;
});
alignas(16) constexpr Fp8Table kFp8UpperSmall = fp8_table([](uint32_t i) {
  return fp8_as_bf16(i) >> 8;
});
alignas(16) constexpr Fp8Table kFp8LowerSmall = fp8_table([](uint32_t i) {
  return fp8_as_bf16(i) ^ i << 4;
});

}  // namespace
}  // namespace hearth
