#include "tensor/lanes_avx2-inl.h"
// The header below needs the lanes before it.
#include "tensor/fit_block-inl.h"

namespace hearth {

const FitLevel kFitAvx2{"avx2", fit_lanes, nearest_codes};

}  // namespace hearth
