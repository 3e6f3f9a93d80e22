// Writes rows of quantised types in files' layout, which dequantize_row reads. Every block is
// fitted by least squares (tensor/fit_block.h), so the bytes depend only on the elements and their
// weights.
#pragma once

#include <cstddef>
#include <span>

#include "tensor/dtype.h"

namespace hearth {

// Returns the types that quantize_row() writes.
std::span<const DType> quantized_dtypes();

// Writes n elements, whole blocks of one of these types, to out[row_bytes(dtype, n)].
// `column_weights` is null, or gives the weight of each element's squared error, none negative. A
// block with an element that is not finite has a scale that is not finite either.
void quantize_row(DType dtype, const float* x, size_t n, const float* column_weights,
                  std::byte* out);

}  // namespace hearth
