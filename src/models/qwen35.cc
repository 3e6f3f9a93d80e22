// Qwen3.5 and its successors 3.6 and 3.8, with experts and without. Three layers of four keep the
// state of a gated delta rule; the fourth attends to all positions, and gates the result. Experts
// are chosen by a softmax over all of them, and weighted in proportion to its values. A shared
// expert is weighted by a gate of its own.
#include <fmt/format.h>

#include "formats/hf_windows.h"
#include "models/architectures.h"
#include "models/hybrid_rows.h"
#include "models/make_blocks.h"

namespace hearth {

void describe_qwen35(SpecBuilder& m) {
  make_decoder(m, [&](uint32_t layer) {
    append_hybrid_layer(m, layer, DeltaFiles::kDealt, [&]() -> SpecBuilder::Body {
      return make_feed_forward(m, layer, Gated::kYes, Activation::kSilu);
    });
  });
}

void describe_qwen35moe(SpecBuilder& m) {
  make_decoder(m, [&](uint32_t layer) {
    append_hybrid_layer(m, layer, DeltaFiles::kDealt, [&]() -> SpecBuilder::Body {
      return make_experts(m, layer, {.gating = Gating::kSoftmax, .norm_topk = true},
                          {.shared_gate = true});
    });
  });
}

namespace {

// Sets the sections of M-RoPE. For text they change nothing, since all sections have the same
// position, but llama.cpp needs the key.
void set_position_sections(const HfReading& reading) {
  const auto pairs = static_cast<int32_t>(reading.model[HfValue::kRopeLength] / 2);
  std::vector<int32_t> sections = {pairs - 2 * (pairs / 3), pairs / 3, pairs / 3, 0};
  const std::optional<ConfigReader> rope = reading.config.object("rope_parameters");
  const boost::json::value* said = rope ? rope->find("mrope_section") : nullptr;
  if (said != nullptr && said->is_array() && said->get_array().size() == 3) {
    for (size_t i = 0; i < 3; ++i) {
      const boost::json::value& number = said->get_array()[i];
      if (!number.is_int64() || number.get_int64() < 0 || number.get_int64() > pairs) {
        rope->refuse("mrope_section", fmt::format("three counts of at most {}", pairs));
      }
      sections[i] = static_cast<int32_t>(number.get_int64());
    }
  }
  reading.set("rope.dimension_sections", sections);
}

}  // namespace

void read_hybrid_layers(const HfReading& reading) {
  constexpr const char* kEvery = "full_attention_interval";
  const ConfigReader& config = reading.config;
  HfConfig& model = reading.model;
  const uint64_t layers = model[HfValue::kLayers];
  const uint64_t keys = model[HfValue::kDeltaKeys], values = model[HfValue::kDeltaValues];
  if (values % keys != 0) {
    config.refuse("linear_num_value_heads", fmt::format("a multiple of the {} key heads", keys));
  }
  const uint32_t length = config.need_count("linear_value_head_dim", ModelMost::kLength);
  if (length != model[HfValue::kDeltaLength]) {
    config.fail_unsupported("linear_value_head_dim",
                            "it supports only the value of linear_key_head_dim");
  }
  const uint32_t every = config.count_or(kEvery, 4, ModelMost::kLayers);
  for (uint32_t i = 0; i < layers; ++i) model.recurrent.push_back((i + 1) % every != 0);
  if (auto named = layers_of_kind(reading, "linear_attention", "full_attention",
                                  "it supports linear_attention and full_attention")) {
    model.recurrent = *std::move(named);
  }
  reading.set("attention.recurrent_layers", model.recurrent);
  if (model.family->deals_heads) set_position_sections(reading);
}

// The folders of these architectures: of the text part of models with vision, or of models that
// have only text.

namespace {

constexpr HfTensor kApartTensors[] = {
    hf::recurrent(hf::matrix("linear_attn.in_proj_qkv", "attn_qkv", hf::kDeltaMixedRows, hf::kWidth,
                             hf::kNone, HfKind::kDeltaMixed)),
    hf::recurrent(hf::matrix("linear_attn.in_proj_z", "attn_gate", hf::kDeltaValueRows, hf::kWidth,
                             hf::kNone, HfKind::kDeltaRows)),
    hf::recurrent(hf::matrix("linear_attn.in_proj_a", "ssm_alpha", hf::kDeltaValues, hf::kWidth,
                             hf::kNone, HfKind::kDeltaRows)),
    hf::recurrent(hf::matrix("linear_attn.in_proj_b", "ssm_beta", hf::kDeltaValues, hf::kWidth,
                             hf::kNone, HfKind::kDeltaRows))};

constexpr HfFamily qwen35_folder(HfTexts names, const char* gguf, HfSets<HfKey> keys,
                                 HfSets<HfKey> more_keys, HfSets<HfTensor> tensors) {
  return {
      .names = names,
      .gguf = gguf,
      .keys = keys,
      .rope = hf::kHybridRope,
      .windows = {.kind = HfWindows::Kind::kOwn},
      .more_keys = more_keys,
      .read = read_hybrid_layers,
      .prefixes = {"model.language_model.", "model."},
      .tensors = tensors,
      .left_out = {{{"visual."}, "of images are ignored: only text is supported"},
                   hf::kFurtherTokens},
      .norms_plus_one = true,
      .deals_heads = true,
      .text_config = true,
  };
}

}  // namespace

constinit const HfFamily kQwen35Folder = qwen35_folder(
    {"Qwen3_5ForCausalLM", "Qwen3_5ForConditionalGeneration"}, "qwen35",
    {hf::kDecoderKeys, hf::kGroupedKeys, hf::kOutputBiasKeys, hf::kDeltaKeysOfConfig}, {},
    {hf::kModelTensors, hf::kHybridTensors, hf::kDeltaTensors, kApartTensors, hf::kDenseTensors});
constinit const HfFamily kQwen35MoeFolder = qwen35_folder(
    {"Qwen3_5MoeForCausalLM", "Qwen3_5MoeForConditionalGeneration"}, "qwen35moe",
    {hf::kExpertDecoderKeys, hf::kGroupedKeys, hf::kOutputBiasKeys, hf::kDeltaKeysOfConfig},
    {hf::kEveryLayerKeys, hf::kSharedGateKeys},
    {hf::kModelTensors, hf::kHybridTensors, hf::kDeltaTensors, kApartTensors,
     hf::kSharedGateTensors, hf::kStackedExperts});

}  // namespace hearth
