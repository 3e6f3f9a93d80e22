#include "tensor/lanes_plain-inl.h"
// The header below needs the lanes before it.
#include "tensor/fit_block-inl.h"

namespace hearth {

const FitLevel kFitPlain{"plain", fit_lanes, nearest_codes};

}  // namespace hearth
