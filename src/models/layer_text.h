// Describes a model's layers in words, made from their blocks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/model_spec.h"

namespace hearth {

// Returns a block's description, such as "attention: 16 heads on 8 of 128, norms of heads, RoPE
// 1e+06, window 1024; norm before".
std::string block_text(const ModelSpec& spec, const Block& block);

// Layers whose blocks have the same descriptions.
struct LayerKind {
  std::vector<uint32_t> layers;     // ascending
  std::vector<std::string> blocks;  // by block_text()
};
// Returns the kinds in the order of their first layers.
std::vector<LayerKind> layer_kinds(const ModelSpec& spec);

}  // namespace hearth
