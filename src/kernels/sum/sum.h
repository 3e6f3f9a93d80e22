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

// A weighted sum of vectors in the order of a stack machine, with one step a term. A step pushes
// weight * term, or with kOntoTop adds it to the uppermost sum by a fused multiply-add. Its low
// bits say how often the upper two sums are then replaced by lower + upper. The first term is
// pushed, and one sum is left at the end. No more than kMaxSums are held at a time. Without terms
// the result is zeros.
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
