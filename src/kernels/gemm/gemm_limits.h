// What one core can do at best, for the GEMM benchmark: loops of nothing but the instruction, or
// nothing but loads. The counts returned are operations (an addition and a multiplication are two).
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth {

double int8_ops_avx512(size_t rounds);  // vpdpbusd
double bf16_ops_avx512(size_t rounds);  // vdpbf16ps
double f32_ops_avx512(size_t rounds);   // vfmadd
// Reads all bytes in order; returns a value of them, so that no compiler drops it.
uint64_t read_avx512(const std::byte* p, size_t bytes);

}  // namespace hearth
