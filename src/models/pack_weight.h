// Packs a shard of a weight from the rows of its tensor, wherever these lie in the files. Pure, so
// that many threads may pack disjoint panels; throws nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "models/model_spec.h"
#include "tensor/weight.h"

namespace hearth {

// The scratch memory that packing the matrix needs, in bytes: a panel's rows at most.
size_t pack_scratch_bytes(const WeightSpec& weight);

// Packs panels [panel0, panel0 + panels) of the shard of the matrix. `scratch` is aligned for
// floats. False where a scale of a tensor of FP8 or of codes is negative (of integers it may be),
// infinite or no number, or an exponent of a tensor of MXFP4 is none.
bool pack_weight_panels(const WeightSpec& weight, const Shard& shard, uint32_t panel0,
                        uint32_t panels, std::byte* scratch);

// Throws (kFile) that the tensor has an invalid scale.
[[noreturn]] void fail_scale(const std::string& source, std::string_view tensor);

}  // namespace hearth
