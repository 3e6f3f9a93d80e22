// Tests folders of several families with quantised Linears: FP8 with a scale a row or a tensor, and
// codes, which become runs with descriptions.
#include <gtest/gtest.h>

#include "formats/gguf_test_bytes.h"
#include "formats/hf_source.h"
#include "formats/test_hf_folder.h"
#include "models/registry.h"

namespace hearth {
namespace {

using Dims = std::vector<uint64_t>;

constexpr const char* kFp8 = R"({"quant_method": "fp8"})";
constexpr const char* kGptq = R"({"quant_method": "gptq", "bits": 4, "group_size": 32})";

HfFolderWriter quant_folder(const std::string& architecture, const char* quant) {
  HfFolderWriter writer(all_hf_families());
  writer.set("architectures", "[\"" + architecture + "\"]");
  for (auto [key, value] :
       {std::pair{"hidden_size", "160"}, std::pair{"num_hidden_layers", "1"},
        std::pair{"num_attention_heads", "3"}, std::pair{"num_key_value_heads", "1"},
        std::pair{"head_dim", "56"}, std::pair{"max_position_embeddings", "64"},
        std::pair{"intermediate_size", "300"}, std::pair{"moe_intermediate_size", "300"},
        std::pair{"num_experts", "3"}, std::pair{"num_experts_per_tok", "2"},
        std::pair{"vocab_size", "7"}}) {
    writer.set(key, value);
  }
  if (quant != nullptr) writer.set("quantization_config", quant);
  return writer;
}

std::string quant_folder_error(const HfFolderWriter& writer) {
  return file_error([&] { writer.source(); });
}

void expect_part(const std::string& text, std::string_view part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

HfFolderWriter fp8_up(const Dims& scales, std::string_view type, const char* quant = kFp8) {
  HfFolderWriter writer = quant_folder("Qwen3ForCausalLM", quant);
  const std::string name = "model.layers.0.mlp.up_proj.";
  writer.add_zeros(name + "weight", {300, 160}, "F8_E4M3", 1);
  writer.add_zeros(name + "weight_scale", scales, type);
  writer.add_zeros(name + "input_scale", {}, "F32");
  return writer;
}

TEST(HfQuantSource, Fp8HasAScaleForARowOrATensor) {
  for (const char* type : {"F32", "BF16", "F16"}) {
    for (const auto& [shape, rows] :
         {std::pair<Dims, uint64_t>({300, 1}, 300), {{300}, 300}, {{1}, 1}, {{}, 1}, {{1, 1}, 1}}) {
      ModelSource source = fp8_up(shape, type).source();
      ASSERT_EQ(source.tensors().size(), 1u);
      const SourceTensor& tensor = source.tensors()[0];
      EXPECT_EQ(tensor.dtype, DType::kF8E4M3);
      ASSERT_EQ(tensor.runs.size(), 1u);
      EXPECT_EQ(tensor.runs[0].stored.part, 1u);
      const StoredMatrix& scales = tensor.runs[0].scales;
      EXPECT_EQ(scales.rows, rows);
      EXPECT_EQ(scales.k, 1u);
      EXPECT_EQ(scales.part, 0u);
      EXPECT_EQ(scales.data.size(), row_bytes(scales.dtype, rows));
      EXPECT_EQ(source.notes()[0],
                "1 scales of activations, or of cached keys and values, are not used");
    }
  }
  // A tensor of the same name may also have a scale for each block of 128 x 128 elements, here
  // 3 x 2, in a shape with further dimensions of 1 or without.
  for (const Dims& shape : {Dims{3, 2}, Dims{3, 1, 2, 1}}) {
    ModelSource source = fp8_up(shape, "F32").source();
    const StoredMatrix& scales = source.tensors()[0].runs[0].scales;
    EXPECT_EQ(scales.rows, 3u);
    EXPECT_EQ(scales.k, 2u);
  }
}

TEST(HfQuantSource, Fp8OfEveryQuantiser) {
  for (const char* quant :
       {R"({"quant_method": "fbgemm_fp8"})",
        R"({"quant_method": "modelopt", "quant_algo": "FP8", "ignore": ["lm_head"]})",
        R"({"quant_method": "compressed-tensors", "format": "float-quantized", "config_groups":
           {"group_0": {"weights": {"num_bits": 8, "type": "float", "strategy": "channel"}}}})"}) {
    EXPECT_EQ(fp8_up({300, 1}, "BF16", quant).source().tensors()[0].runs[0].scales.rows, 300u);
  }
  HfFolderWriter beside = fp8_up({}, "F32", nullptr);
  EXPECT_EQ(beside.source().tensors().size(), 2u) << "nothing says what input_scale is";
  beside.put("hf_quant_config.json", R"({"quantization": {"quant_algo": "FP8"}})");
  EXPECT_EQ(beside.source().tensors().size(), 1u);
  EXPECT_EQ(beside.source().tensors()[0].runs[0].scales.rows, 1u);
  beside.put("hf_quant_config.json", R"({"quantization": {"quant_algo": "INT4_AWQ"}})");
  EXPECT_THROW(beside.source(), Error);
}

TEST(HfQuantSource, ScalesOfFp8ThatDoNotFit) {
  for (const Dims& shape : {Dims{299, 1}, Dims{160}, Dims{2, 3}, Dims{0}, Dims{300, 2}}) {
    expect_part(quant_folder_error(fp8_up(shape, "F32")),
                "instead of 3 x 2 scales (one for 128 x 128 elements), 300 scales (one a row), or "
                "one scale");
  }
  expect_part(quant_folder_error(fp8_up({300}, "I32")),
              "stored as I32 instead of F32, BF16 or F16");
  HfFolderWriter twice = fp8_up({300}, "F32");
  twice.add_zeros("model.layers.0.mlp.up_proj.weight_scale_inv", {3, 2}, "F32");
  expect_part(quant_folder_error(twice), "has two sets of scales, '");
  HfFolderWriter lone = fp8_up({300}, "F32");
  lone.add_zeros("model.layers.0.mlp.gate_proj.weight_scale", {300}, "F32");
  expect_part(quant_folder_error(lone), "gate_proj.weight_scale' belongs to no tensor");
  HfFolderWriter plain = quant_folder("Qwen3ForCausalLM", kFp8);
  plain.add_zeros("model.layers.0.mlp.up_proj.weight", {300, 160}, "BF16");
  plain.add_zeros("model.layers.0.mlp.up_proj.weight_scale", {300}, "F32");
  expect_part(quant_folder_error(plain), "up_proj.weight_scale' belongs to no tensor");
  HfFolderWriter none = quant_folder("Qwen3ForCausalLM", kFp8);
  none.add_zeros("model.layers.0.mlp.up_proj.weight", {300, 160}, "F8_E4M3");
  expect_part(quant_folder_error(none), "is F8_E4M3, but its scales");
}

TEST(HfQuantSource, RowsOfFp8InAnotherOrder) {
  HfFolderWriter writer = quant_folder("LlamaForCausalLM", kFp8);
  const std::string query = "model.layers.0.self_attn.q_proj.weight";
  writer.add_zeros(query, {168, 160}, "F8_E4M3");
  writer.add_zeros(query + "_scale", {168, 1}, "F32", 1);
  ModelSource source = writer.source();
  const SourceTensor& tensor = source.require_tensor("blk.0.attn_q.weight");
  ASSERT_EQ(tensor.runs.size(), 3u);
  for (const SourceRun& run : tensor.runs) EXPECT_EQ(run.scales.rows, 168u);
}

void add_experts(HfFolderWriter& writer, const std::string& ending, const Dims& shape,
                 const char* type) {
  for (size_t e = 0; e < 3; ++e) {
    const std::string name = fmt::format("model.layers.0.mlp.experts.{}.up_proj.", e);
    writer.add_zeros(name + ending, shape, type, e);
  }
}

TEST(HfQuantSource, ExpertsOfFp8HaveScalesEach) {
  for (const auto& [shape, rows] : {std::pair<Dims, uint64_t>({}, 1), {{300, 1}, 300}}) {
    HfFolderWriter writer = quant_folder("Qwen3MoeForCausalLM", kFp8);
    add_experts(writer, "weight", {300, 160}, "F8_E4M3");
    add_experts(writer, "weight_scale", shape, "F32");
    ModelSource source = writer.source();
    const SourceTensor& tensor = source.require_tensor("blk.0.ffn_up_exps.weight");
    ASSERT_EQ(tensor.runs.size(), 3u);
    for (uint32_t e = 0; e < 3; ++e) {
      EXPECT_EQ(tensor.runs[e].scales.rows, rows);
      EXPECT_EQ(tensor.runs[e].scales.part, e);
    }
  }
}

TEST(HfQuantSource, CodesBecomeRunsOfTheirTensors) {
  HfFolderWriter writer = quant_folder("Qwen3MoeForCausalLM", kGptq);
  writer.set("num_hidden_layers", "1");
  add_experts(writer, "qweight", {20, 304}, "I32");
  add_experts(writer, "qzeros", {5, 38}, "I32");
  add_experts(writer, "scales", {5, 304}, "F16");
  ModelSource source = writer.source();
  const SourceTensor& tensor = source.require_tensor("blk.0.ffn_up_exps.weight");
  EXPECT_EQ(tensor.dims, (Dims{160, 304, 3}));
  EXPECT_EQ(tensor.n_bytes(), 160u * 304 * 3 / 2);
  ASSERT_EQ(tensor.runs.size(), 3u);
  for (uint32_t e = 0; e < 3; ++e) {
    const SourceRun& run = tensor.runs[e];
    ASSERT_NE(run.codes, nullptr);
    EXPECT_EQ(run.codes->rows, 304u);
    EXPECT_EQ(run.codes->group, 32u);
    EXPECT_EQ(run.codes->codes.part, e);
    EXPECT_EQ(run.codes->zero_of(1, 2), 1);
  }
  HfFolderWriter llama = quant_folder("LlamaForCausalLM", kGptq);
  const std::string query = "model.layers.0.self_attn.q_proj.";
  llama.add_zeros(query + "qweight", {20, 168}, "I32");
  llama.add_zeros(query + "qzeros", {5, 21}, "I32");
  llama.add_zeros(query + "scales", {5, 168}, "F16");
  ModelSource halves = llama.source();
  const SourceTensor& queries = halves.require_tensor("blk.0.attn_q.weight");
  ASSERT_EQ(queries.runs.size(), 3u);
  EXPECT_EQ(queries.runs[2].first, 112u);
  EXPECT_EQ(queries.runs[2].interleave, 2u);
  EXPECT_EQ(queries.runs[2].codes, queries.runs[0].codes);
}

}  // namespace
}  // namespace hearth
