// Quantises rows to FP8 E4M3 codes with a scale for every 128 elements, by least squares. The codes
// of a fixed series of scales are compared, each with the best scale for these codes. The scales
// span an octave, since with twice a scale the codes would be the same but for their exponents.
#pragma once

#include <cstddef>

#include "base/fp_types.h"

namespace hearth {

// Sets codes and scales so that x[i] ~ scales[i / 128] e4m3_to_f32(codes[i]) for n elements. No
// scale is negative; a block of zeros has scale 0. A block with an element that is not finite gets
// codes of NaN. `weights` is null, or gives the weight of each element's squared error, none
// negative.
void fit_fp8(const float* x, size_t n, const float* weights, e4m3_t* codes, float* scales);

}  // namespace hearth
