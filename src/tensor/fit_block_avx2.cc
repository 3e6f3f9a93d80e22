#include "tensor/lanes_avx2-inl.h"
// The headers below need the lanes before them.
#include "tensor/fit_block-inl.h"
#include "tensor/fit_fp8-inl.h"

namespace hearth {

const FitLevel kFitAvx2{"avx2", fit_lanes, nearest_codes, fit_fp8_lanes, kLanes};

}  // namespace hearth
