// Qwen3 (Yang et al. 2025): as Qwen2 without biases, with an RMS norm on every query and key head
// before RoPE.
#include "models/architectures.h"

namespace hearth {

void configure_qwen3(const GgufFile&, DecoderConfig* config) {
  config->rope.layout = RopeLayout::kHalf;
  config->qk_norm = true;
}

}  // namespace hearth
