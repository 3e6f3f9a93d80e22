// Quantises rows to FP8 E4M3 codes with a scale for every 128 elements, by least squares: the codes
// of a fixed row of scales are compared, each with the best scale for them. The scales span an
// octave, since twice a scale gives the same codes but for their exponents.
#pragma once

#include <cstddef>

#include "base/fp_types.h"

namespace hearth {

// Sets codes and scales so that x[i] ~ scales[i / 128] e4m3_to_f32(codes[i]) for n elements. No
// scale is negative; that of a block of zeros is 0. A block with an element that is no finite
// number gets codes of NaN. `weights` is null or says how much the squared error of each element
// counts, none negative.
void fit_fp8(const float* x, size_t n, const float* weights, e4m3_t* codes, float* scales);

}  // namespace hearth
