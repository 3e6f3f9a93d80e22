#include "kernels/elementwise_kernels.h"

namespace hearth {

void add_vectors_reference(const AddVectorsArgs& a) {
  for (uint32_t i = 0; i < a.n; ++i) {
    a.out[i] = a.a[i] + (a.c == nullptr ? a.b[i] : a.b[i] + a.c[i]);
  }
}

}  // namespace hearth
