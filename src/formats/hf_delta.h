// Where the heads of a gated delta rule lie in a folder's tensors, and in which order GGUF has
// them. A folder has the value heads of a key head beside each other; GGUF the same, or, of some
// families, dealt out: one of every key head after another (HfFamily::deals_heads).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "formats/hf_config.h"
#include "formats/source_tensor.h"

namespace hearth {

// Of a tensor that consists of heads of as many rows each, those that one of GGUF's has, in order.
struct HfHeads {
  uint64_t stored;  // so many lie in the folder's
  std::vector<uint64_t> taken;

  bool as_stored() const;
};

// The bytes of a tensor's heads, those that are taken, in order.
std::vector<std::byte> copied_heads(const HfHeads& heads, std::span<const std::byte> from);

// Of kDeltaMixed: queries' and keys' heads, then those of values.
HfHeads mixed_heads(const HfConfig& config);
// Of what has value heads alone.
HfHeads value_heads(const HfConfig& config);
// Of kDeltaJoined: attn_qkv's, and attn_gate's.
HfHeads joined_heads(const HfConfig& config);
HfHeads joined_gates(const HfConfig& config);
// Columns of the value heads.
DealtColumns value_columns(const HfConfig& config);

}  // namespace hearth
