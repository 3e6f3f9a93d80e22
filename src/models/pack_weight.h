// Packs a shard of a weight from the rows of its tensor, wherever these lie in the files. The
// functions are pure, so that many threads may pack disjoint panels; they throw nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "models/model_spec.h"
#include "tensor/weight.h"

namespace hearth {

// Returns the bytes of scratch memory for packing the matrix: a panel's rows at most.
size_t pack_scratch_bytes(const WeightSpec& weight);

// Packs panels [panel0, panel0 + panels) of the shard of the matrix. `scratch` is aligned for
// floats. Returns false for an invalid scale: one of FP8 or of codes that is negative (scales of
// integer codes may be), infinite or NaN, or an exponent of MXFP4 that stands for no number.
bool pack_weight_panels(const WeightSpec& weight, const Shard& shard, uint32_t panel0,
                        uint32_t panels, std::byte* scratch);

// Throws Error (kFile), saying that the tensor has an invalid scale.
[[noreturn]] void fail_scale(const std::string& source, std::string_view tensor);

}  // namespace hearth
