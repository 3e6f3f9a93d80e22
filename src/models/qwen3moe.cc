// Qwen3 with experts (Yang et al. 2025): as Qwen3, with experts for a feed-forward layer, chosen by
// softmax and weighted by what the chosen ones have of it.
#include "models/architectures.h"
#include "models/decoder.h"

namespace hearth {

void describe_qwen3moe(SpecBuilder& spec) {
  spec.hyper().rope.layout = RopeLayout::kHalf;
  describe_decoder(spec, HeadNorms::kAll);
}

}  // namespace hearth
