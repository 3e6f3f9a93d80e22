#include <cmath>

#include "kernels/kernels.h"

namespace hearth {

void add_vectors_reference(const AddVectorsArgs& a) {
  for (uint32_t i = 0; i < a.n; ++i) {
    a.out[i] = a.a[i] + (a.c == nullptr ? a.b[i] : a.b[i] + a.c[i]);
  }
}

void weighted_sum_reference(const WeightedSumArgs& a) {
  for (uint32_t i = 0; i < a.n; ++i) {
    float sums[kMaxSums] = {};
    uint32_t held = 0;
    for (uint32_t t = 0; t < a.count; ++t) {
      const float term = a.terms[t][i];
      if (a.steps[t] & kOntoTop) {
        sums[held - 1] = std::fma(a.weights[t], term, sums[held - 1]);
      } else {
        sums[held++] = a.weights[t] * term;
      }
      for (int adds = a.steps[t] & (kOntoTop - 1); adds > 0; --adds, --held) {
        sums[held - 2] += sums[held - 1];
      }
    }
    a.out[i] = sums[0];
  }
}

}  // namespace hearth
