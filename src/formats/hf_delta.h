// Maps the heads of a gated delta rule from a folder's tensors to GGUF's. A folder has the value
// heads of one key head beside each other; GGUF has the same order, or in some families one value
// head of every key head in turn (HfFamily::deals_heads).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "formats/hf_config.h"
#include "formats/source_tensor.h"

namespace hearth {

// Selects the heads of a folder's tensor that make GGUF's, in GGUF's order; all heads have the same
// number of rows.
struct HfHeads {
  uint64_t stored;  // the number of heads in the folder's tensor
  std::vector<uint64_t> taken;

  bool as_stored() const;
};

// Returns a copy of the selected heads' bytes, in their order.
std::vector<std::byte> copied_heads(const HfHeads& heads, std::span<const std::byte> from);

// Returns the heads of a kDeltaMixed tensor: those of queries and keys, then those of values.
HfHeads mixed_heads(const HfConfig& config);
// Returns the heads of a tensor that has only value heads.
HfHeads value_heads(const HfConfig& config);
// Return the heads of a kDeltaJoined tensor that make attn_qkv, and those that make attn_gate.
HfHeads joined_heads(const HfConfig& config);
HfHeads joined_gates(const HfConfig& config);
// Returns the order of columns of a tensor whose columns are value heads.
DealtColumns value_columns(const HfConfig& config);

}  // namespace hearth
