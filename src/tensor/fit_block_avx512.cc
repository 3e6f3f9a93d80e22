#include "tensor/lanes_avx512-inl.h"
// The header below needs the lanes before it.
#include "tensor/fit_block-inl.h"

namespace hearth {

const FitLevel kFitAvx512{"avx512", fit_lanes, nearest_codes};

}  // namespace hearth
