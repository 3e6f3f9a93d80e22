// Whether an accelerator computes a model right, found out before a text is.
#pragma once

#include <functional>

#include "accelerator/accelerator.h"
#include "models/model_spec.h"

namespace hearth {

// Holds the accelerator's shaders against the reference kernels, briefly, for the types of those
// weights of the model that it `takes`. Throws Error (kUnsupported) where one is wrong or cannot be
// computed.
void require_right(
    Accelerator& accelerator, const ModelSpec& spec,
    const std::function<bool(const WeightSpec&)>& takes = [](const WeightSpec&) { return true; });

}  // namespace hearth
