// Qwen2 and Qwen2.5 (Yang et al. 2024): as Llama, with biases on Q, K and V and RoPE's pairs half a
// head apart.
#include "models/architectures.h"
#include "models/decoder.h"

namespace hearth {

void describe_qwen2(SpecBuilder& spec) {
  spec.hyper().rope.layout = RopeLayout::kHalf;
  describe_decoder(spec);
}

}  // namespace hearth
