// GLM-4.5 and its successors (arXiv 2508.06471): grouped queries with biases, RoPE over a part of a
// head, norms of heads in the larger models, leading dense layers, and behind them experts chosen
// by sigmoid with a bias, beside a shared one.
#include "models/architectures.h"
#include "models/decoder.h"

namespace hearth {

void describe_glm4moe(SpecBuilder& spec) {
  spec.hyper().rope.layout = RopeLayout::kHalf;
  describe_decoder(spec, HeadNorms::kWhereThere, "post_attention_norm.weight");
}

}  // namespace hearth
