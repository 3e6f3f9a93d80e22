// What a pack kind and its form are made of (tensor/pack_kind.h), in the numbers by which shaders
// read panels: shaders/gemm_kind.glsl, gemm_scales.glsl and gemm_values.glsl.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/pack_spec.h"

namespace hearth {

struct ShaderPack {
  // The first of shaders/gemm_kind.glsl, up to kParts.
  std::vector<uint32_t> constants;
  // Of a panel's scales: bytes before those of blocks, and what super_of() takes.
  uint32_t block_scales = 0, super_offset = 0, group_shift = 0;
};

ShaderPack shader_pack(const PackSpec& spec);

}  // namespace hearth
