// Sums of vectors: out[i] = a[i] + b[i], or a[i] + (b[i] + c[i]), each addition rounded once, so
// every ISA level gives the same bits. Biases, residuals and partial sums are added so.
#pragma once

#include <cstdint>

namespace hearth {

struct AddVectorsArgs {
  const float* a;
  const float* b;
  const float* c;  // or null
  uint32_t n;
  float* out;  // may be any of them
};
using AddVectorsFn = void (*)(const AddVectorsArgs&);

}  // namespace hearth
