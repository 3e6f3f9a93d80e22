// Whether an accelerator computes a model right, found out before a text is.
#pragma once

#include "accelerator/accelerator.h"
#include "models/model_spec.h"

namespace hearth {

// Holds the accelerator's shaders against the reference kernels, briefly, for the types of the
// model's weights. Throws Error (kUnsupported) where one is wrong or cannot be computed.
void require_right(Accelerator& accelerator, const ModelSpec& spec);

}  // namespace hearth
