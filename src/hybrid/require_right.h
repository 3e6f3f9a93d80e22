// Checks, before an accelerator computes its first text, that it computes right.
#pragma once

#include <functional>

#include "accelerator/accelerator.h"
#include "models/model_spec.h"

namespace hearth {

// Compares the accelerator's shaders briefly with the reference kernels, for the types of those
// weights of the model for which `takes` is true. Throws Error (kUnsupported) where a shader's
// results are wrong or it cannot run.
void require_right(
    Accelerator& accelerator, const ModelSpec& spec,
    const std::function<bool(const WeightSpec&)>& takes = [](const WeightSpec&) { return true; });

}  // namespace hearth
