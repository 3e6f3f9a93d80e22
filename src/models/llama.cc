// Llama 2, Llama 3.x and Mistral (Touvron et al. 2023; Grattafiori et al. 2024; Jiang et al. 2023):
// GGUF files hold Q and K permuted so that RoPE's pairs are neighbours. Llama 3's long-context
// factors come as the tensor rope_freqs, Mistral's sliding window as a key.
#include "models/architectures.h"

namespace hearth {

void configure_llama(const GgufFile&, DecoderConfig* config) {
  config->rope.layout = RopeLayout::kInterleaved;
}

}  // namespace hearth
