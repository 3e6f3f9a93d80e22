#include "tensor/lanes_neon-inl.h"
// The header below needs the lanes before it.
#include "tensor/fit_block-inl.h"

namespace hearth {

const FitLevel kFitNeon{"neon", fit_lanes, nearest_codes};

}  // namespace hearth
