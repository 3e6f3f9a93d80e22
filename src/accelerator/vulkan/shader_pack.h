// The numbers by which shaders read panels of a pack kind and its form (tensor/pack_kind.h): those
// of shaders/gemm_kind.glsl, gemm_scales.glsl and gemm_values.glsl.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/pack_spec.h"

namespace hearth {

struct ShaderPack {
  // The first constants of shaders/gemm_kind.glsl, up to kParts.
  std::vector<uint32_t> constants;
  // The scales of a panel: bytes before those of blocks, and what super_of() takes.
  uint32_t block_scales = 0, super_offset = 0, group_shift = 0;
};

ShaderPack shader_pack(const PackSpec& spec);

}  // namespace hearth
