// Qwen3 (Yang et al. 2025): as Qwen2 without biases, with an RMS norm on every query and key head
// before RoPE.
#include "models/architectures.h"
#include "models/decoder.h"

namespace hearth {

void describe_qwen3(SpecBuilder& spec) {
  spec.hyper().rope.layout = RopeLayout::kHalf;
  describe_decoder(spec, HeadNorms::kAll);
}

}  // namespace hearth
