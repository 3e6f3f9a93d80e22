// Tests features of the readers of folders that no real family has all together. The test makes a
// family from Qwen3's: a multimodal one with windows in some layers.
#include <gtest/gtest.h>

#include <cstring>

#include "formats/gguf_test_bytes.h"
#include "formats/hf_rows.h"
#include "formats/test_hf_folder.h"
#include "models/architectures.h"
#include "models/decoder_rows.h"
#include "models/registry.h"

namespace hearth {
namespace {

constexpr HfKey kMadeKeys[] = {hf::real("final_logit_softcapping", "final_logit_softcapping")};
constexpr HfTensor kMadeTensors[] = {hf::at_top("language_model.lm_head", "output")};

HfFamily made_family() {
  HfFamily family = kQwen3Folder;
  family.names = {"MadeForConditionalGeneration", "MadeForCausalLM"};
  family.gguf = "made";
  family.rope.windowed_key = "rope_local_base_freq";
  family.rope.windowed_base = 1e4;
  family.windows = {.kind = HfWindows::Kind::kSome,
                    .length = 16,
                    .period_key = "sliding_window_pattern",
                    .period = 3};
  family.more_keys = {kMadeKeys};
  family.prefixes = {"model.language_model.", "language_model.model.", "model."};
  family.tensors = {hf::kModelTensors, hf::kNormTensors, hf::kGroupedTensors, kMadeTensors};
  family.left_out = {{{"vision_tower."}, "of images are ignored: only text is supported"}};
  family.norms_plus_one = true;
  family.text_config = true;
  return family;
}

class MadeFamily : public testing::Test {
 protected:
  MadeFamily() : writer_(families_) {
    writer_.set("architectures", R"(["MadeForCausalLM"])");
    for (const char* key : {"hidden_size", "max_position_embeddings", "intermediate_size"}) {
      writer_.set(key, "8");
    }
    writer_.set("num_hidden_layers", "4");
    writer_.set("num_attention_heads", "2");
    writer_.set("vocab_size", "5");
    writer_.add_zeros("model.embed_tokens.weight", {5, 8}, "F32");
  }

  template <typename T>
  T get(const char* key) const {
    return writer_.source().metadata().require<T>(key);
  }

  const HfFamily family_ = made_family();
  const HfFamily* const families_[1] = {&family_};
  HfFolderWriter writer_;
};

TEST_F(MadeFamily, TextConfigIsReadAndWhatStandsBesideIt) {
  writer_.set("architectures", R"(["MadeForConditionalGeneration"])");
  writer_.set("text_config", R"({"hidden_size": 6, "head_dim": 2, "vocab_size": null,
                                 "quantization_config": null})");
  EXPECT_EQ(get<uint32_t>("made.embedding_length"), 6u);
  EXPECT_EQ(get<uint32_t>("made.block_count"), 4u);
  EXPECT_EQ(get<uint32_t>("made.vocab_size"), 5u);
  auto error = [&](const char* text) {
    writer_.set("text_config", text);
    return file_error([&] { writer_.source(); });
  };
  EXPECT_NE(error(R"({"hidden_size": 0})").find("text_config.hidden_size = 0"), std::string::npos);
  EXPECT_NE(error(R"({"rope_scaling": 4})").find("text_config.rope_scaling = 4"),
            std::string::npos);
  EXPECT_NE(error("4").find("text_config = 4, but the value must be an object"), std::string::npos);
  writer_.set("num_hidden_layers", "0");
  EXPECT_NE(error("{}").find("has num_hidden_layers = 0"), std::string::npos);
  writer_.erase("num_hidden_layers");
  EXPECT_NE(error("{}").find("has no text_config.num_hidden_layers"), std::string::npos);
}

TEST_F(MadeFamily, TensorsUnderEveryPrefix) {
  writer_.add_zeros("model.language_model.layers.0.self_attn.k_proj.weight", {4, 8}, "F32");
  writer_.add_zeros("language_model.model.layers.1.self_attn.k_proj.weight", {4, 8}, "F32");
  writer_.add_zeros("language_model.lm_head.weight", {5, 8}, "F32");
  writer_.add_zeros("model.vision_tower.layers.0.self_attn.k_proj.weight", {4, 8}, "F8_E4M3");
  writer_.add_zeros("model.vision_tower.layers.0.self_attn.k_proj.weight_scale_inv", {1}, "F32");
  writer_.add_zeros("vision_tower.norm.weight", {4}, "I64");
  const ModelSource source = writer_.source();
  EXPECT_EQ(source.tensors().size(), 4u);
  for (const char* name : {"blk.0.attn_k.weight", "blk.1.attn_k.weight", "output.weight"}) {
    EXPECT_NE(source.find_tensor(name), nullptr) << name;
  }
  ASSERT_EQ(source.notes().size(), 1u);
  EXPECT_EQ(source.notes()[0], "2 tensors of images are ignored: only text is supported");
}

TEST_F(MadeFamily, SomeLayersHaveAWindow) {
  using Flags = std::vector<bool>;
  EXPECT_EQ(get<uint32_t>("made.attention.sliding_window"), 16u);
  EXPECT_EQ(get<Flags>("made.attention.sliding_window_pattern"), (Flags{true, true, false, true}));
  writer_.set("sliding_window_pattern", "2");
  writer_.set("sliding_window", "5");
  EXPECT_EQ(get<uint32_t>("made.attention.sliding_window"), 5u);
  EXPECT_EQ(get<Flags>("made.attention.sliding_window_pattern"), (Flags{true, false, true, false}));
  writer_.set("layer_types", R"(["full_attention", "full_attention", "sliding_attention",
                                 "sliding_attention"])");
  EXPECT_EQ(get<Flags>("made.attention.sliding_window_pattern"), (Flags{false, false, true, true}));
  writer_.set("layer_types", R"(["sliding_attention", "sliding_attention", "sliding_attention",
                                 "sliding_attention"])");
  EXPECT_EQ(get<Flags>("made.attention.sliding_window_pattern"), (Flags{true, true, true, true}));
  writer_.set("layer_types", R"(["full_attention", "full_attention", "full_attention",
                                 "full_attention"])");
  const ModelSource full = writer_.source();
  EXPECT_EQ(full.metadata().find("made.attention.sliding_window"), nullptr);
}

TEST_F(MadeFamily, LayersWithAWindowTurnOtherwise) {
  writer_.set("rope_theta", "1e6");
  EXPECT_EQ(get<float>("made.rope.freq_base"), 1e6f);
  EXPECT_EQ(get<float>("made.rope.freq_base_swa"), 1e4f);
  writer_.set("rope_local_base_freq", "500");
  EXPECT_EQ(get<float>("made.rope.freq_base_swa"), 500);
  writer_.erase("rope_local_base_freq");
  writer_.set("rope_parameters", R"({
      "sliding_attention": {"rope_type": "default", "rope_theta": 300},
      "full_attention": {"rope_type": "linear", "factor": 8, "rope_theta": 1e6}})");
  EXPECT_EQ(get<float>("made.rope.freq_base_swa"), 300);
  EXPECT_EQ(get<float>("made.rope.scaling.factor"), 8);
  writer_.set("rope_parameters", R"({"sliding_attention": {"rope_type": "linear", "factor": 8}})");
  EXPECT_THROW(writer_.source(), Error);
}

TEST_F(MadeFamily, AKeyWithARowIsNotRefused) {
  writer_.set("final_logit_softcapping", "30");
  EXPECT_EQ(get<float>("made.final_logit_softcapping"), 30);
  writer_.set("attn_logit_softcapping", "50");
  EXPECT_THROW(writer_.source(), Error);
}

TEST_F(MadeFamily, AddsOneToNormsStoredWithoutIt) {
  const uint16_t stored[] = {0x3f80, 0xbf80, 0, 0x4000};  // 1, -1, 0, 2
  writer_.add("model.layers.0.post_attention_layernorm.weight", {4}, "BF16",
              std::as_bytes(std::span(stored)));
  const ModelSource source = writer_.source();
  const SourceTensor& norm = source.require_tensor("blk.0.ffn_norm.weight");
  EXPECT_EQ(norm.dtype, DType::kF32);
  float values[4];
  ASSERT_EQ(norm.data.size(), sizeof values);
  std::memcpy(values, norm.data.data(), sizeof values);
  EXPECT_EQ(values[0], 2);
  EXPECT_EQ(values[1], 0);
  EXPECT_EQ(values[2], 1);
  EXPECT_EQ(values[3], 3);
  writer_.add_zeros("model.layers.1.post_attention_layernorm.weight", {4, 4}, "BF16");
  EXPECT_NE(file_error([&] { writer_.source(); }).find("is not a vector of F32, F16 or BF16"),
            std::string::npos);
}

}  // namespace
}  // namespace hearth
