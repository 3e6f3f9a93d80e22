// The numbers with which shaders read panels of a pack kind and its form (tensor/pack_kind.h):
// constants and arguments of shaders/gemm_kind.glsl, gemm_scales.glsl and gemm_values.glsl.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/pack_spec.h"

namespace hearth {

struct ShaderPack {
  // The first constants of shaders/gemm_kind.glsl, up to kParts.
  std::vector<uint32_t> constants;
  // The layout of a panel's scales: how many bytes lie before the scales of blocks, and the
  // arguments of super_of().
  uint32_t block_scales = 0, super_offset = 0, group_shift = 0;
};

ShaderPack shader_pack(const PackSpec& spec);

}  // namespace hearth
