// Qwen2 and Qwen2.5 (Yang et al. 2024): as Llama, with biases on Q, K and V and RoPE's pairs half a
// head apart.
#include "models/architectures.h"

namespace hearth {

void configure_qwen2(const GgufFile&, DecoderConfig* config) {
  config->rope.layout = RopeLayout::kHalf;
}

}  // namespace hearth
