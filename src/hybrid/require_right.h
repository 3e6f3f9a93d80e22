// Checks that an accelerator computes a model correctly, before it computes the first text.
#pragma once

#include <functional>

#include "accelerator/accelerator.h"
#include "models/model_spec.h"

namespace hearth {

// Compares the accelerator's shaders with the reference kernels, briefly, for the types of the
// model's weights for which `takes` is true. Throws Error (kUnsupported) where a shader is wrong or
// cannot be run.
void require_right(
    Accelerator& accelerator, const ModelSpec& spec,
    const std::function<bool(const WeightSpec&)>& takes = [](const WeightSpec&) { return true; });

}  // namespace hearth
