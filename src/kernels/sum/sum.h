// Sums of vectors: out[i] = a[i] + b[i], or a[i] + (b[i] + c[i]). Each addition rounds once, so
// every ISA level gives the same bits. Biases, residuals and partial sums are added by these.
#pragma once

#include <cstdint>

namespace hearth {

struct AddVectorsArgs {
  const float* a;
  const float* b;
  const float* c;  // or null
  uint32_t n;
  float* out;  // may be a, b or c
};

// A weighted sum of vectors in the order of a stack machine, with one step for each term. A step
// pushes weight * term on the stack. With kOntoTop it adds weight * term to the uppermost sum
// instead, by a fused multiply-add. The low bits of the step say how often the two uppermost sums
// are then replaced by lower + upper. The first term is pushed, and one sum is left at the end. The
// stack never holds more than kMaxSums sums. Without terms the result is zeros.
inline constexpr uint8_t kOntoTop = 0x80;
inline constexpr uint32_t kMaxSums = 6;

struct WeightedSumArgs {
  const float* const* terms;  // [count]
  const float* weights;       // [count]
  const uint8_t* steps;       // [count]
  uint32_t count;
  uint32_t n;  // elements of a vector, a multiple of 16
  float* out;
};

}  // namespace hearth
