#include "tune/model_shape.h"

#include "base/error.h"
#include "models/decoder.h"

namespace hearth {

ModelShape read_model_shape(const GgufFile& file, const DecoderConfig& config) {
  ModelShape shape{config, {}, DType::kF32, DType::kF32};
  for (uint32_t layer = 0; layer < config.layers; ++layer) {
    auto type = [&](const char* name) {
      return file.require_tensor(layer_tensor(layer, name)).dtype;
    };
    shape.layers.push_back({type("attn_q"), type("attn_k"), type("attn_v"), type("attn_output"),
                            type("ffn_gate"), type("ffn_up"), type("ffn_down")});
  }
  shape.embedding = file.require_tensor("token_embd.weight").dtype;
  const GgufTensor* head = file.find_tensor("output.weight");
  shape.head = head != nullptr ? head->dtype : shape.embedding;
  return shape;
}

ModelShape uniform_shape(const DecoderConfig& config, DType type, DType head) {
  LayerTypes types{type, type, type, type, type, type, type};
  return {config, std::vector<LayerTypes>(config.layers, types), head, head};
}

}  // namespace hearth
