// The places of a gated delta rule's heads in a folder's tensors, and their order in GGUF. A folder
// has the value heads of a key head beside each other; GGUF the same, or, of some families, dealt
// out: one of every key head after another (HfFamily::deals_heads).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "formats/hf_config.h"
#include "formats/source_tensor.h"

namespace hearth {

// The heads of the folder's tensor that GGUF's tensor has, in order; all heads have the same number
// of rows.
struct HfHeads {
  uint64_t stored;  // so many lie in the folder's
  std::vector<uint64_t> taken;

  bool as_stored() const;
};

// The bytes of a tensor's heads, those that are taken, in order.
std::vector<std::byte> copied_heads(const HfHeads& heads, std::span<const std::byte> from);

// Returns the heads of kDeltaMixed: those of queries and keys, then those of values.
HfHeads mixed_heads(const HfConfig& config);
// Returns the heads of a tensor that has value heads alone.
HfHeads value_heads(const HfConfig& config);
// Return the heads of kDeltaJoined: those of attn_qkv, and those of attn_gate.
HfHeads joined_heads(const HfConfig& config);
HfHeads joined_gates(const HfConfig& config);
// Columns of the value heads.
DealtColumns value_columns(const HfConfig& config);

}  // namespace hearth
