// Tests folders of Qwen's hybrids: the order of heads, the metadata of config.json, and refusals.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/error.h"
#include "formats/gguf_test_bytes.h"
#include "formats/source_rows.h"
#include "formats/test_hf_folder.h"
#include "models/registry.h"

namespace hearth {
namespace {

// Returns a writer of a folder with two key heads that have two value heads each, all of two
// elements; its second layer has full attention.
HfFolderWriter hybrid_folder(const std::string& architecture) {
  HfFolderWriter writer(all_hf_families());
  writer.set("architectures", "[\"" + architecture + "\"]");
  for (auto [key, value] :
       {std::pair{"hidden_size", "3"}, std::pair{"num_hidden_layers", "2"},
        std::pair{"num_attention_heads", "1"}, std::pair{"head_dim", "4"},
        std::pair{"max_position_embeddings", "64"}, std::pair{"intermediate_size", "20"},
        std::pair{"vocab_size", "7"}, std::pair{"linear_num_key_heads", "2"},
        std::pair{"linear_num_value_heads", "4"}, std::pair{"linear_key_head_dim", "2"},
        std::pair{"linear_value_head_dim", "2"}, std::pair{"linear_conv_kernel_dim", "3"},
        std::pair{"full_attention_interval", "2"}, std::pair{"tie_word_embeddings", "true"}}) {
    writer.set(key, value);
  }
  if (architecture.find("Moe") != std::string::npos || architecture == "Qwen3NextForCausalLM") {
    writer.set("num_experts", "2");
    writer.set("num_experts_per_tok", "1");
    writer.set("moe_intermediate_size", "5");
    writer.set("shared_expert_intermediate_size", "6");
  }
  writer.add_zeros("model.embed_tokens.weight", {7, 3}, "F32");
  return writer;
}

// Adds a tensor whose row r holds 100 r, 100 r + 1, ...
void add_numbered(HfFolderWriter& writer, const std::string& name, std::vector<uint64_t> shape) {
  uint64_t columns = 1;
  for (size_t i = 1; i < shape.size(); ++i) columns *= shape[i];
  std::vector<float> values;
  for (uint64_t r = 0; r < shape[0]; ++r) {
    for (uint64_t c = 0; c < columns; ++c) values.push_back(static_cast<float>(100 * r + c));
  }
  writer.add(name, shape, "F32", std::as_bytes(std::span(values)));
}

// Returns, for every row of the tensor, the folder's row that it was taken from.
std::vector<int> rows_taken(const ModelSource& source, const std::string& name) {
  std::vector<int> taken;
  for (uint64_t r = 0; r < source.require_tensor(name).rows(); ++r) {
    taken.push_back(static_cast<int>(row_of(source.require_tensor(name), r)[0]) / 100);
  }
  return taken;
}

TEST(HybridFolder, ValueHeadsAreDealtOut) {
  HfFolderWriter writer = hybrid_folder("Qwen3_5ForCausalLM");
  const std::string there = "model.layers.0.linear_attn.";
  add_numbered(writer, there + "in_proj_qkv.weight", {16, 3});
  add_numbered(writer, there + "in_proj_z.weight", {8, 3});
  add_numbered(writer, there + "in_proj_a.weight", {4, 3});
  add_numbered(writer, there + "conv1d.weight", {16, 1, 3});
  add_numbered(writer, there + "dt_bias", {4});
  add_numbered(writer, there + "out_proj.weight", {3, 8});
  add_numbered(writer, there + "norm.weight", {2});
  add_numbered(writer, "model.layers.0.input_layernorm.weight", {3});
  const float logarithms[] = {0, 1, 2, 3};
  writer.add(there + "A_log", {4}, "F32", std::as_bytes(std::span(logarithms)));
  const ModelSource source = writer.source();
  const std::vector<int> mixed = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15};
  EXPECT_EQ(rows_taken(source, "blk.0.attn_qkv.weight"), mixed);
  EXPECT_EQ(rows_taken(source, "blk.0.ssm_conv1d.weight"), mixed);
  EXPECT_EQ(source.require_tensor("blk.0.ssm_conv1d.weight").dims, (std::vector<uint64_t>{3, 16}));
  // A folder may store the convolution without its dimension of 1. The weight is a vector, so its
  // tensor has no runs.
  HfFolderWriter flat = hybrid_folder("Qwen3_5ForCausalLM");
  add_numbered(flat, there + "conv1d.weight", {16, 3});
  const ModelSource flattened = flat.source();
  EXPECT_EQ(rows_taken(flattened, "blk.0.ssm_conv1d.weight"), mixed);
  EXPECT_TRUE(flattened.require_tensor("blk.0.ssm_conv1d.weight").runs.empty());
  EXPECT_EQ(rows_taken(source, "blk.0.attn_gate.weight"),
            (std::vector<int>{0, 1, 4, 5, 2, 3, 6, 7}));
  EXPECT_EQ(rows_taken(source, "blk.0.ssm_alpha.weight"), (std::vector<int>{0, 2, 1, 3}));
  EXPECT_EQ(row_of(source.require_tensor("blk.0.ssm_dt.bias"), 0),
            (std::vector<float>{0, 200, 100, 300}));
  EXPECT_EQ(row_of(source.require_tensor("blk.0.ssm_out.weight"), 1),
            (std::vector<float>{100, 101, 104, 105, 102, 103, 106, 107}));
  std::vector<float> decays;
  for (double x : {0.0, 2.0, 1.0, 3.0}) decays.push_back(static_cast<float>(-std::exp(x)));
  EXPECT_EQ(row_of(source.require_tensor("blk.0.ssm_a"), 0), decays);
  EXPECT_EQ(row_of(source.require_tensor("blk.0.ssm_norm.weight"), 0),
            (std::vector<float>{0, 100}));
  EXPECT_EQ(row_of(source.require_tensor("blk.0.attn_norm.weight"), 0),
            (std::vector<float>{1, 101, 201}));
}

TEST(HybridFolder, JoinedProjectionsAreTakenApart) {
  HfFolderWriter writer = hybrid_folder("Qwen3NextForCausalLM");
  add_numbered(writer, "model.layers.0.linear_attn.in_proj_qkvz.weight", {24, 3});
  add_numbered(writer, "model.layers.0.linear_attn.out_proj.weight", {3, 8});
  const ModelSource source = writer.source();
  EXPECT_EQ(rows_taken(source, "blk.0.attn_qkv.weight"),
            (std::vector<int>{0, 1, 12, 13, 2, 3, 14, 15, 4, 5, 6, 7, 16, 17, 18, 19}));
  EXPECT_EQ(rows_taken(source, "blk.0.attn_gate.weight"),
            (std::vector<int>{8, 9, 10, 11, 20, 21, 22, 23}));
  EXPECT_EQ(row_of(source.require_tensor("blk.0.ssm_out.weight"), 0),
            (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(HybridFolder, LeavesOutTensorsOfImagesAndPrediction) {
  HfFolderWriter writer = hybrid_folder("Qwen3_5MoeForConditionalGeneration");
  writer.add_zeros("model.visual.blocks.0.norm1.weight", {3}, "F32");
  writer.add_zeros("mtp.fc.weight", {3, 6}, "F32");
  writer.add_zeros("mtp.norm.weight", {3}, "F32");
  writer.add_zeros("model.language_model.layers.0.mlp.experts.gate_up_proj", {2, 10, 3}, "F32");
  const ModelSource source = writer.source();
  EXPECT_EQ(source.require_tensor("blk.0.ffn_gate_up_exps.weight").dims,
            (std::vector<uint64_t>{3, 10, 2}));
  ASSERT_EQ(source.notes().size(), 2u);
  EXPECT_EQ(source.notes()[0] + source.notes()[1],
            "1 tensors of images are ignored: only text is supported2 tensors are for multi-token "
            "prediction and are ignored");
  const auto recurrent =
      source.metadata().get<std::vector<bool>>("qwen35moe.attention.recurrent_layers");
  EXPECT_EQ(recurrent, (std::vector<bool>{true, false}));
  EXPECT_EQ(source.metadata().require<uint32_t>("qwen35moe.ssm.inner_size"), 8u);
  EXPECT_EQ(source.metadata().require<uint32_t>("qwen35moe.rope.dimension_count"), 1u);
}

TEST(HybridFolder, NamesInvalidValues) {
  struct Case {
    const char *key, *value, *says;
  };
  for (const Case& c :
       {Case{"linear_num_value_heads", "3", "a multiple of the 2 key heads"},
        Case{"linear_value_head_dim", "4", "it supports only the value of linear_key_head_dim"},
        Case{"linear_conv_kernel_dim", "17", "linear_conv_kernel_dim = 17"},
        Case{"linear_conv_kernel_dim", "0", "linear_conv_kernel_dim = 0"},
        Case{"attn_output_gate", "false", "attn_output_gate"},
        Case{"layer_types", R"(["linear_attention"])", "the kinds of 2 layers"},
        Case{"layer_types", R"(["linear_attention", "sliding_attention"])",
             "it supports linear_attention and full_attention"}}) {
    HfFolderWriter writer = hybrid_folder("Qwen3_5ForCausalLM");
    writer.set(c.key, c.value);
    try {
      writer.source();
      ADD_FAILURE() << c.key;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(c.says), std::string::npos) << error.what();
    }
  }
  for (const auto& [name, shape] :
       {std::pair<const char*, std::vector<uint64_t>>{"in_proj_qkv.weight", {15, 3}},
        {"out_proj.weight", {3, 6}},
        {"A_log", {3}},
        {"conv1d.weight", {16, 2, 3}}}) {
    HfFolderWriter writer = hybrid_folder("Qwen3_5ForCausalLM");
    writer.add_zeros(std::string("model.layers.0.linear_attn.") + name, shape, "F32");
    EXPECT_NE(file_error([&] { writer.source(); }).find(name), std::string::npos) << name;
  }
  HfFolderWriter fewer = hybrid_folder("Qwen3_5MoeForCausalLM");
  fewer.add_zeros("model.layers.0.mlp.experts.down_proj", {3, 3, 5}, "BF16");
  const std::string counted = file_error([&] { fewer.source(); });
  EXPECT_NE(counted.find("experts.down_proj' is 3 x 3 x 5, but config.json requires 2 experts"),
            std::string::npos)
      << counted;
  // A decay of two dimensions is read as it is; it is refused later, when its shape is checked.
  HfFolderWriter writer = hybrid_folder("Qwen3_5ForCausalLM");
  writer.add_zeros("model.layers.0.linear_attn.A_log", {4, 1}, "F32");
  EXPECT_EQ(writer.source().require_tensor("blk.0.ssm_a").dims, (std::vector<uint64_t>{1, 4}));
}

}  // namespace
}  // namespace hearth
