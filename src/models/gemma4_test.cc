// Tests the blocks that are made of Gemma 4's files, and refusals.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

#include "formats/test_hf_folder.h"
#include "models/layer_text.h"
#include "models/registry.h"
#include "models/test_source.h"

namespace hearth {
namespace {

constexpr const char* kWindowed = "gemma4.attention.sliding_window_pattern";
constexpr const char* kShared = "gemma4.attention.shared_kv_layers";

TestSource gemma4(ModelExperts experts = {}) {
  TestSource source =
      made_source({.architecture = "gemma4", .layers = 4, .window = 8, .experts = experts});
  source.set(kWindowed, std::vector<bool>{true, false, true, false});
  return source;
}

void expect_gemma_refused(const TestSource& source, ErrorCode code, std::string_view part) {
  const std::string error = spec_refusal(source, code);
  EXPECT_NE(error.find(part), std::string::npos) << error;
}

TEST(Gemma4, LayersOfTwoKinds) {
  TestSource source = gemma4();
  source.set("gemma4.attention.key_length_swa", uint32_t{8});
  source.set("gemma4.attention.value_length_swa", uint32_t{8});
  source.set("gemma4.rope.dimension_count_swa", uint32_t{8});
  source.set("gemma4.rope.freq_base", 1e6f);
  for (const char* layer : {"0", "2"}) {
    const std::string blk = std::string("blk.") + layer + ".";
    source.add(blk + "attn_q.weight", {64, 32}).add(blk + "attn_k.weight", {64, 16});
    source.add(blk + "attn_v.weight", {64, 16}).add(blk + "attn_output.weight", {32, 64});
    source.add(blk + "attn_q_norm.weight", {8}).add(blk + "attn_k_norm.weight", {8});
  }
  source.remove("blk.1.attn_v.weight");
  source.add("blk.3.layer_output_scale.weight", {1});
  source.set("gemma4.final_logit_softcapping", 30.0f);
  const TestModel model(source);
  const ModelSpec& spec = model.spec();
  EXPECT_EQ(spec.logit_cap, 30.0f);
  EXPECT_EQ(spec.embedding.scale, 8.0f);
  const AttentionBlock& local = *spec.block<AttentionBlock>(0);
  const AttentionBlock& full = *spec.block<AttentionBlock>(1);
  EXPECT_EQ(local.window, 8u);
  EXPECT_EQ(local.key_length, 8u);
  EXPECT_EQ(local.scale, 1.0f);
  EXPECT_EQ(local.rope->freq_base, 10000);
  EXPECT_GT(local.value_norm_eps, 0);
  EXPECT_EQ(full.window, 0u);
  EXPECT_EQ(full.key_length, 16u);
  EXPECT_EQ(full.rope->freq_base, 1e6);
  EXPECT_TRUE(full.has_values_of_keys());
  EXPECT_FALSE(spec.layers[2].blocks.back().norms.scale);
  EXPECT_TRUE(spec.layers[3].blocks.back().norms.scale);
}

TEST(Gemma4, LastLayersReadKeysOfTheLastOfTheirKind) {
  TestSource source = gemma4();
  source.set(kShared, uint32_t{2});
  source.remove("blk.2.attn_k.weight").remove("blk.2.attn_v.weight");
  source.remove("blk.2.attn_k_norm.weight");
  const TestModel model(source);
  const ModelSpec& spec = model.spec();
  for (uint32_t layer : {2u, 3u}) {
    EXPECT_EQ(spec.block<AttentionBlock>(layer)->keys_of, layer - 2);
    EXPECT_FALSE(spec.kept(layer));
    EXPECT_TRUE(spec.kept(layer - 2));
  }
  const std::vector<LayerKind> kinds = layer_kinds(spec);
  EXPECT_NE(kinds[2].blocks[0].find("keys and values of layer 0"), std::string::npos);
}

TEST(Gemma4, ExpertsStandBesideADenseLayer) {
  const TestModel model(gemma4({.count = 4, .chosen = 2, .ffn = 40}));
  const Layer& layer = model.spec().layers[0];
  ASSERT_EQ(layer.blocks.size(), 3u);
  EXPECT_TRUE(layer.blocks[1].held);
  EXPECT_TRUE(layer.blocks[2].norms.outer);
  const auto& experts = std::get<ExpertsBlock>(layer.blocks[2].body);
  EXPECT_TRUE(experts.router_norm);
  EXPECT_TRUE(experts.scales);
  EXPECT_TRUE(experts.rule.norm_topk);
  EXPECT_EQ(experts.rule.logit_scale, 0.125f);
  EXPECT_EQ(experts.activation, Activation::kGeluTanh);
}

TestSource with_per_layer() {
  TestSource source =
      made_source({.architecture = "gemma4", .layers = 2, .window = 8, .per_layer = 24});
  source.add("blk.0.layer_output_scale.weight", {1});
  return source;
}

TEST(Gemma4, LayersEndWithWhatTheirTokensHave) {
  const TestModel model(with_per_layer());
  const ModelSpec& spec = model.spec();
  const PerLayerInputs& inputs = *spec.embedding.per_layer;
  EXPECT_EQ(inputs.length, 24u);
  EXPECT_EQ(spec.weight(inputs.projection).rows, 48u);
  EXPECT_EQ(inputs.table->name, "per_layer_token_embd.weight");
  for (const WeightSpec& weight : spec.weights) EXPECT_NE(weight.data, inputs.table);
  const Block& last = spec.layers[0].blocks.back();
  const auto& block = std::get<PerLayerBlock>(last.body);
  EXPECT_EQ(spec.weight(block.gate).rows, 24u);
  EXPECT_EQ(spec.weight(block.output).k, 24u);
  EXPECT_FALSE(last.norms.before);
  EXPECT_TRUE(last.norms.scale);
  EXPECT_EQ(spec.logit_cap, 30.0f);
}

TEST(Gemma4, TablesOfLayersThatDoNotFitAreNamed) {
  const auto file = ErrorCode::kFile;
  for (const char* name :
       {"per_layer_token_embd.weight", "per_layer_model_proj.weight", "per_layer_proj_norm.weight",
        "blk.1.inp_gate.weight", "blk.0.proj.weight", "blk.1.post_norm.weight"}) {
    expect_gemma_refused(with_per_layer().remove(name), file, name);
    expect_gemma_refused(with_per_layer().add(name, {5, 3}), file,
                         std::string("tensor ") + name + " is 5 x 3, but");
  }
  expect_gemma_refused(
      with_per_layer().set("gemma4.embedding_length_per_layer_input", uint32_t{1} << 20), file,
      "gemma4.embedding_length_per_layer_input");
}

TEST(Gemma4, NamesMissingOrWrongFields) {
  const auto file = ErrorCode::kFile;
  expect_gemma_refused(gemma4().set("gemma4.attention.sliding_window", uint32_t{0}), file,
                       "gemma4.attention.sliding_window");
  expect_gemma_refused(gemma4().set(kWindowed, std::vector<bool>{true}), file, kWindowed);
  expect_gemma_refused(gemma4().set(kShared, uint32_t{4}), file, kShared);
  TestSource none = gemma4();
  none.set(kWindowed, std::vector<bool>{true, true, true, false}).set(kShared, uint32_t{1});
  expect_gemma_refused(none, file, "layer 3 has no sliding window");
  TestSource other = gemma4();
  other.set("gemma4.attention.head_count_kv", std::vector<uint32_t>{2, 2, 1, 2});
  expect_gemma_refused(other.set(kShared, uint32_t{2}), file,
                       "layer 2 has 4 heads for 1 KV heads of 16 and 16 elements, but shares keys "
                       "and values of layer 0, which has 4 heads for 2");
  const ModelExperts experts{.count = 4, .chosen = 2, .ffn = 40};
  for (const char* name : {"blk.1.ffn_gate_inp.scale", "blk.0.ffn_down_exps.scale",
                           "blk.2.post_ffw_norm_1.weight", "blk.3.pre_ffw_norm_2.weight"}) {
    expect_gemma_refused(gemma4(experts).remove(name), file, name);
    expect_gemma_refused(gemma4(experts).add(name, {3}), file,
                         std::string("tensor ") + name + " is 3, but");
  }
  TestSource lengths = gemma4();
  lengths.remove("blk.0.attn_v.weight").set("gemma4.attention.value_length", uint32_t{8});
  expect_gemma_refused(
      lengths, file, "gemma4.attention.value_length = 8, but the value must be the key length 16");
}

// The rest of the file tests Hugging Face folders.

HfFolderWriter gemma4_folder() {
  HfFolderWriter writer(all_hf_families());
  writer.set("architectures", R"(["Gemma4ForCausalLM"])");
  for (auto [key, value] :
       {std::pair{"hidden_size", "64"},
        {"num_hidden_layers", "3"},
        {"num_attention_heads", "4"},
        {"num_key_value_heads", "2"},
        {"num_global_key_value_heads", "1"},
        {"attention_k_eq_v", "true"},
        {"head_dim", "8"},
        {"global_head_dim", "16"},
        {"max_position_embeddings", "256"},
        {"intermediate_size", "32"},
        {"vocab_size", "7"},
        {"num_kv_shared_layers", "1"},
        {"use_double_wide_mlp", "true"},
        {"sliding_window", "8"},
        {"final_logit_softcapping", "30.0"},
        {"hidden_size_per_layer_input", "0"},
        {"layer_types", R"(["sliding_attention", "full_attention", "full_attention"])"},
        {"rope_parameters",
         R"({"full_attention": {"rope_type": "proportional", "rope_theta": 1e6,
             "partial_rotary_factor": 0.25}, "sliding_attention": {"rope_theta": 1e4}})"}}) {
    writer.set(key, value);
  }
  writer.add_zeros("model.norm.weight", {64}, "F32");
  writer.add_zeros("model.layers.0.layer_scalar", {1}, "BF16");
  return writer;
}

float factor_of(const ModelSource& source, size_t pair) {
  float factor;
  const SourceTensor& factors = source.require_tensor("rope_freqs.weight");
  std::memcpy(&factor, factors.data.data() + pair * sizeof factor, sizeof factor);
  return factor;
}

void expect_folder_refused(const HfFolderWriter& writer, ErrorCode code, std::string_view part) {
  try {
    writer.source();
    ADD_FAILURE() << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(Gemma4Folder, ACapOfZeroTurnsCappingOff) {
  HfFolderWriter writer = gemma4_folder();
  writer.set("final_logit_softcapping", "0.0");
  EXPECT_EQ(writer.source().metadata().get<float>("gemma4.final_logit_softcapping"), 0.0f);
  writer.set("final_logit_softcapping", "-1");
  EXPECT_THROW(writer.source(), Error);
}

TEST(Gemma4Folder, KindsOfLayersHaveValuesOfTheirOwn) {
  HfFolderWriter writer = gemma4_folder();
  const ModelSource source = writer.source();
  const Metadata& metadata = source.metadata();
  const uint32_t kv_heads[] = {2, 1, 1}, rows[] = {32, 32, 64};
  const bool windowed[] = {true, false, false};
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(metadata.of_layer<uint32_t>("gemma4.attention.head_count_kv", i), kv_heads[i]);
    EXPECT_EQ(metadata.of_layer<uint32_t>("gemma4.feed_forward_length", i), rows[i]);
    EXPECT_EQ(metadata.of_layer<bool>(kWindowed, i), windowed[i]);
  }
  for (auto [key, value] : {std::pair{"attention.key_length", 16u},
                            {"attention.key_length_swa", 8u},
                            {"rope.dimension_count", 16u},
                            {"rope.dimension_count_swa", 8u},
                            {"attention.shared_kv_layers", 1u}}) {
    EXPECT_EQ(metadata.get<uint32_t>(std::string("gemma4.") + key), value) << key;
  }
  EXPECT_EQ(metadata.get<float>("gemma4.rope.freq_base_swa"), 1e4f);
  ASSERT_EQ(source.require_tensor("rope_freqs.weight").n_elements, 8u);
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(factor_of(source, i), i < 2 ? 1.0f : 1e30f);
  EXPECT_NE(source.find_tensor("blk.0.layer_output_scale.weight"), nullptr);
}

TEST(Gemma4Folder, MissingKeysHaveTheDefaultsOfTransformers) {
  HfFolderWriter writer = gemma4_folder();
  for (const char* key :
       {"rope_parameters", "num_attention_heads", "num_key_value_heads", "sliding_window",
        "vocab_size", "hidden_size_per_layer_input", "num_hidden_layers", "layer_types"}) {
    writer.erase(key);
  }
  writer.set("num_hidden_layers", "8");
  const ModelSource source = writer.source();
  const Metadata& metadata = source.metadata();
  // A quarter of the pairs of a head of 16 turn.
  for (size_t pair = 0; pair < 8; ++pair) {
    EXPECT_EQ(factor_of(source, pair), pair < 2 ? 1.0f : 1e30f) << pair;
  }
  EXPECT_EQ(metadata.get<float>("gemma4.rope.freq_base"), 1e6f);
  EXPECT_EQ(metadata.get<float>("gemma4.rope.freq_base_swa"), 1e4f);
  EXPECT_EQ(metadata.get<uint32_t>("gemma4.attention.head_count"), 8u);
  EXPECT_EQ(metadata.get<uint32_t>("gemma4.attention.sliding_window"), 512u);
  EXPECT_EQ(metadata.get<uint32_t>("gemma4.embedding_length_per_layer_input"), 256u);
  EXPECT_EQ(metadata.get<uint32_t>("gemma4.vocab_size"), 262144u);
  // The sixth layer has no window, nor has the last.
  for (uint32_t i = 0; i < 8; ++i) {
    EXPECT_EQ(metadata.of_layer<bool>(kWindowed, i), i != 5 && i != 7) << i;
  }
  writer.set("architectures", R"(["Gemma4UnifiedForConditionalGeneration"])");
  const ModelSource unified = writer.source();
  EXPECT_EQ(unified.metadata().get<uint32_t>("gemma4.attention.sliding_window"), 1024u);
  EXPECT_FALSE(unified.metadata().get<uint32_t>("gemma4.embedding_length_per_layer_input"));
}

TEST(Gemma4Folder, TextIsReadInOneDirection) {
  HfFolderWriter writer = gemma4_folder();
  writer.set("use_bidirectional_attention", R"("vision")");
  EXPECT_NO_THROW(writer.source());
  writer.set("use_bidirectional_attention", R"("all")");
  expect_folder_refused(writer, ErrorCode::kUnsupported, "use_bidirectional_attention");
}

constexpr const char* kStackedUps = "model.layers.1.experts.gate_up_proj";

HfFolderWriter with_experts() {
  HfFolderWriter writer = gemma4_folder();
  writer.set("enable_moe_block", "true");
  writer.set("num_experts", "5");
  writer.set("top_k_experts", "2");
  writer.set("moe_intermediate_size", "24");
  return writer;
}

TEST(Gemma4Folder, ExpertsAreTwoTensors) {
  HfFolderWriter writer = with_experts();
  writer.add_zeros(kStackedUps, {5, 48, 64}, "BF16");
  writer.add_zeros("model.layers.1.experts.down_proj", {5, 64, 24}, "BF16");
  writer.add_zeros("model.layers.1.router.per_expert_scale", {5}, "BF16");
  writer.add_zeros("model.layers.1.router.scale", {64}, "BF16");
  const ModelSource source = writer.source();
  using Dims = std::vector<uint64_t>;
  EXPECT_EQ(source.require_tensor("blk.1.ffn_gate_up_exps.weight").dims, (Dims{64, 48, 5}));
  EXPECT_EQ(source.require_tensor("blk.1.ffn_down_exps.weight").dims, (Dims{24, 64, 5}));
  EXPECT_EQ(source.require_tensor("blk.1.ffn_down_exps.scale").dims, (Dims{5}));
  EXPECT_EQ(source.require_tensor("blk.1.ffn_gate_inp.scale").dims, (Dims{64}));
  for (auto [key, value] : {std::pair{"expert_count", 5u},
                            {"expert_used_count", 2u},
                            {"expert_feed_forward_length", 24u}}) {
    EXPECT_EQ(source.metadata().get<uint32_t>(std::string("gemma4.") + key), value) << key;
  }
}

TEST(Gemma4Folder, ExpertsMayStandApart) {
  HfFolderWriter writer = with_experts();
  for (const char* kind : {"gate_proj", "up_proj", "down_proj"}) {
    const bool down = std::string_view(kind) == "down_proj";
    for (int expert = 0; expert < 5; ++expert) {
      writer.add_zeros(fmt::format("model.layers.0.experts.{}.{}.weight", expert, kind),
                       {down ? 64u : 24u, down ? 24u : 64u}, "BF16");
    }
  }
  const ModelSource source = writer.source();
  using Dims = std::vector<uint64_t>;
  EXPECT_EQ(source.require_tensor("blk.0.ffn_gate_exps.weight").dims, (Dims{64, 24, 5}));
  EXPECT_EQ(source.require_tensor("blk.0.ffn_down_exps.weight").dims, (Dims{24, 64, 5}));
}

TEST(Gemma4Folder, ExpertsThatDoNotFitAreNamed) {
  for (const char* key : {"num_experts", "top_k_experts", "moe_intermediate_size"}) {
    HfFolderWriter writer = with_experts();
    writer.erase(key);
    expect_folder_refused(writer, ErrorCode::kFile, key);
  }
  HfFolderWriter many = with_experts();
  many.set("top_k_experts", "6");
  expect_folder_refused(many, ErrorCode::kFile, "top_k_experts");
  HfFolderWriter fewer = with_experts();
  fewer.add_zeros(kStackedUps, {4, 48, 64}, "BF16");
  expect_folder_refused(fewer, ErrorCode::kFile, kStackedUps);
}

}  // namespace
}  // namespace hearth
