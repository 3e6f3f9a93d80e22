// Tests opening folders: the tensors and metadata of several families.
#include "formats/hf_source.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "formats/gguf_test_bytes.h"
#include "formats/source_rows.h"
#include "formats/test_hf_folder.h"
#include "models/registry.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;

using Shape = std::vector<uint64_t>;

void set_common(HfFolderWriter& writer, const std::string& architecture) {
  writer.set("architectures", "[\"" + architecture + "\"]");
  for (auto [key, value] :
       {std::pair{"hidden_size", "12"}, std::pair{"num_hidden_layers", "1"},
        std::pair{"num_attention_heads", "3"}, std::pair{"num_key_value_heads", "1"},
        std::pair{"head_dim", "4"}, std::pair{"max_position_embeddings", "64"},
        std::pair{"intermediate_size", "20"}, std::pair{"vocab_size", "7"}}) {
    writer.set(key, value);
  }
}

// Returns values 0, 1, 2, ... in f32, so that each value is its index.
std::vector<float> counted(uint64_t n, float first = 0) {
  std::vector<float> values(n);
  for (uint64_t i = 0; i < n; ++i) values[i] = first + static_cast<float>(i);
  return values;
}

void add_counted(HfFolderWriter& writer, std::string_view name, const Shape& shape, float first = 0,
                 size_t part = 0) {
  uint64_t n = 1;
  for (uint64_t dim : shape) n *= dim;
  const std::vector<float> values = counted(n, first);
  writer.add(name, shape, "F32", std::as_bytes(std::span(values)), part);
}

HfFolderWriter tiny_llama_folder() {
  HfFolderWriter writer(all_hf_families());
  set_common(writer, "LlamaForCausalLM");
  add_counted(writer, "model.embed_tokens.weight", {7, 12});
  add_counted(writer, "model.layers.0.self_attn.q_proj.weight", {12, 12});
  add_counted(writer, "model.layers.0.self_attn.k_proj.weight", {4, 12});
  add_counted(writer, "model.layers.0.self_attn.k_proj.bias", {4});
  add_counted(writer, "model.layers.0.mlp.down_proj.weight", {12, 20});
  writer.add_zeros("model.layers.0.self_attn.rotary_emb.inv_freq", {2}, "F32");
  return writer;
}

std::string folder_error(const HfFolderWriter& writer) {
  return file_error([&] { writer.source(); });
}

void expect_in(const std::string& text, std::string_view part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(HfSource, TensorsOfALlama) {
  HfFolderWriter writer = tiny_llama_folder();
  writer.put("tokenizer.json", "{}");
  ModelSource source = writer.source();
  EXPECT_EQ(source.name(), "folder");
  EXPECT_STREQ(source.format_name(), "safetensors");
  EXPECT_EQ(source.files().size(), 1u);
  EXPECT_EQ(source.metadata().require<std::string>("general.name"), "folder");
  EXPECT_EQ(source.metadata().require<std::string>("general.architecture"), "llama");
  EXPECT_TRUE(source.has_vocabulary());
  ASSERT_NE(source.find_document("tokenizer.json"), nullptr);
  EXPECT_EQ(source.find_document("tokenizer.json")->bytes().size(), 2u);
  EXPECT_EQ(source.find_document("model.safetensors"), nullptr);
  ASSERT_EQ(source.tensors().size(), 5u);
  const SourceTensor& table = source.require_tensor("token_embd.weight");
  EXPECT_EQ(table.dims, (Shape{12, 7}));
  EXPECT_TRUE(table.runs.empty());
  EXPECT_EQ(row_of(table, 2), counted(12, 24));
  EXPECT_EQ(source.require_tensor("blk.0.ffn_down.weight").dims, (Shape{20, 12}));
}

// A base model that was saved by itself has names without "model.", and no head.
TEST(HfSource, TensorsOfABaseModel) {
  HfFolderWriter writer(all_hf_families());
  set_common(writer, "LlamaForCausalLM");
  add_counted(writer, "embed_tokens.weight", {7, 12});
  add_counted(writer, "layers.0.self_attn.q_proj.weight", {12, 12});
  add_counted(writer, "layers.0.self_attn.k_proj.weight", {4, 12});
  add_counted(writer, "layers.0.self_attn.k_proj.bias", {4});
  add_counted(writer, "layers.0.mlp.down_proj.weight", {12, 20});
  ModelSource with = tiny_llama_folder().source();
  ModelSource without = writer.source();
  ASSERT_EQ(without.tensors().size(), with.tensors().size());
  for (const SourceTensor& tensor : with.tensors()) {
    const SourceTensor& same = without.require_tensor(tensor.name);
    EXPECT_EQ(same.dims, tensor.dims) << tensor.name;
    for (uint64_t row = 0; row < tensor.rows(); ++row) {
      EXPECT_EQ(row_of(same, row), row_of(tensor, row)) << tensor.name;
    }
  }
  ASSERT_EQ(without.notes().size(), 1u);
  EXPECT_EQ(without.notes()[0],
            "there is no lm_head, and config.json does not tie it to the embeddings: use this "
            "model only for embeddings, as its text would be wrong");
  writer.set("tie_word_embeddings", "true");
  EXPECT_TRUE(writer.source().notes().empty());
}

// Rows 0, 1, 2, 3 of a head are stored as 0, 2, 1, 3.
TEST(HfSource, QueriesAndKeysOfALlamaAreInterleaved) {
  ModelSource source = tiny_llama_folder().source();
  const SourceTensor& query = source.require_tensor("blk.0.attn_q.weight");
  const uint64_t stored[] = {0, 2, 1, 3};
  for (uint64_t row = 0; row < 12; ++row) {
    const uint64_t from = row / 4 * 4 + stored[row % 4];
    EXPECT_EQ(row_of(query, row), counted(12, static_cast<float>(12 * from))) << row;
  }
  EXPECT_EQ(row_of(source.require_tensor("blk.0.attn_k.weight"), 1), counted(12, 24));
  const SourceTensor& bias = source.require_tensor("blk.0.attn_k.bias");
  EXPECT_EQ(row_of(bias, 0), (std::vector<float>{0, 2, 1, 3}));
  EXPECT_EQ(bias.part, kNoPart);
  for (const SourceTensor& tensor : source.tensors()) source.release(tensor);
  HfFolderWriter qwen = tiny_llama_folder();
  qwen.set("architectures", R"(["Qwen2ForCausalLM"])");
  EXPECT_TRUE(qwen.source().require_tensor("blk.0.attn_q.weight").runs.empty());
}

TEST(HfSource, MovesWithWhatPointsIntoIt) {
  ModelSource first = tiny_llama_folder().source();
  const SourceTensor* tensor = first.find_tensor("blk.0.attn_q.weight");
  ModelSource second = std::move(first);
  EXPECT_EQ(second.find_tensor("blk.0.attn_q.weight"), tensor);
  EXPECT_EQ(second.metadata().require<uint32_t>("llama.block_count"), 1u);
  EXPECT_EQ(row_of(*tensor, 0), counted(12));
}

HfFolderWriter mixtral_folder() {
  HfFolderWriter writer(all_hf_families());
  set_common(writer, "MixtralForCausalLM");
  writer.set("num_local_experts", "3");
  writer.set("num_experts_per_tok", "2");
  for (size_t e = 0; e < 3; ++e) {
    const std::string name = fmt::format("model.layers.0.block_sparse_moe.experts.{}.", 2 - e);
    // Each expert lies in a file of its own.
    add_counted(writer, name + "w1.weight", {20, 12}, static_cast<float>(1000 * (2 - e)), e);
    add_counted(writer, name + "w2.weight", {12, 20}, 0, e);
  }
  return writer;
}

TEST(HfSource, ExpertsOfALayerAreOneTensor) {
  ModelSource source = mixtral_folder().source();
  ASSERT_EQ(source.files().size(), 3u);
  ASSERT_EQ(source.tensors().size(), 2u);
  const SourceTensor& gate = source.require_tensor("blk.0.ffn_gate_exps.weight");
  EXPECT_EQ(gate.dims, (Shape{12, 20, 3}));
  for (uint64_t e = 0; e < 3; ++e) {
    EXPECT_EQ(row_of(gate, 20 * e + 5), counted(12, static_cast<float>(1000 * e + 60))) << e;
  }
  EXPECT_EQ(gate.n_bytes(), 3u * 20 * 12 * 4);
  source.release(gate, 20, 20);
}

TEST(HfSource, ExpertsThatDoNotFit) {
  HfFolderWriter more = mixtral_folder();
  more.set("num_local_experts", "4");
  expect_in(folder_error(more), "experts.3.w1.weight' is missing, and is one of 4 experts");
  HfFolderWriter fewer = mixtral_folder();
  fewer.set("num_local_experts", "2");
  expect_in(folder_error(fewer), "an expert beyond the 2 in config.json");
  HfFolderWriter other = mixtral_folder();
  other.set("num_local_experts", "4");
  other.add_zeros("model.layers.0.block_sparse_moe.experts.3.w1.weight", {21, 12}, "F32");
  expect_in(folder_error(other), "has another shape or type");
}

HfFolderWriter deepseek_folder(uint64_t nope, uint64_t value, uint64_t rank) {
  HfFolderWriter writer(all_hf_families());
  set_common(writer, "DeepseekV3ForCausalLM");
  for (auto [key, number] :
       {std::pair{"qk_nope_head_dim", nope}, std::pair{"v_head_dim", value},
        std::pair{"kv_lora_rank", rank}, std::pair{"qk_rope_head_dim", uint64_t{4}},
        std::pair{"n_routed_experts", uint64_t{4}}, std::pair{"num_experts_per_tok", uint64_t{1}},
        std::pair{"moe_intermediate_size", uint64_t{8}}, std::pair{"n_group", uint64_t{2}},
        std::pair{"first_k_dense_replace", uint64_t{1}},
        std::pair{"num_nextn_predict_layers", uint64_t{1}}}) {
    writer.set(key, std::to_string(number));
  }
  return writer;
}

constexpr const char* kPair = "model.layers.0.self_attn.kv_b_proj.weight";

TEST(HfSource, LatentKeysAndValuesArePulledApart) {
  HfFolderWriter writer = deepseek_folder(5, 6, 10);
  add_counted(writer, kPair, {3 * 11, 10});
  ModelSource source = writer.source();
  const SourceTensor& keys = source.require_tensor("blk.0.attn_k_b.weight");
  const SourceTensor& values = source.require_tensor("blk.0.attn_v_b.weight");
  EXPECT_EQ(keys.dims, (Shape{5, 10, 3}));
  EXPECT_EQ(values.dims, (Shape{10, 6, 3}));
  for (uint64_t head = 0; head < 3; ++head) {
    for (uint64_t r = 0; r < 10; ++r) {
      const std::vector<float> row = row_of(keys, 10 * head + r);
      for (uint64_t i = 0; i < 5; ++i) {
        EXPECT_EQ(row[i], static_cast<float>((11 * head + i) * 10 + r));
      }
    }
    for (uint64_t r = 0; r < 6; ++r) {
      EXPECT_EQ(row_of(values, 6 * head + r),
                counted(10, static_cast<float>((11 * head + 5 + r) * 10)));
    }
  }
  HfFolderWriter wrong = deepseek_folder(5, 7, 10);
  add_counted(wrong, kPair, {3 * 11, 10});
  expect_in(folder_error(wrong), "kv_b_proj.weight' is 33 x 10, but config.json requires 36 x 10");
}

TEST(HfSource, LayersOfMultiTokenPredictionAreLeftOut) {
  HfFolderWriter writer = deepseek_folder(5, 6, 10);
  writer.add_zeros("model.layers.0.input_layernorm.weight", {12}, "BF16");
  writer.add_zeros("model.layers.1.eh_proj.weight", {12, 24}, "F8_E4M3");
  writer.add_zeros("model.layers.1.eh_proj.weight_scale_inv", {1, 1}, "F32");
  ModelSource source = writer.source();
  EXPECT_EQ(source.tensors().size(), 1u);
  ASSERT_FALSE(source.notes().empty());
  EXPECT_EQ(source.notes()[0], "layer 1 is for multi-token prediction and is ignored, 1 tensors");
  writer.add_zeros("model.layers.2.input_layernorm.weight", {12}, "BF16");
  expect_in(folder_error(writer),
            "belongs to layer 2, but config.json has num_hidden_layers = 1 and 1 for multi-token");
}

HfFolderWriter fp8_folder(const Shape& scales, std::string_view type) {
  HfFolderWriter writer(all_hf_families());
  set_common(writer, "Qwen3ForCausalLM");
  writer.add_zeros("model.layers.0.mlp.up_proj.weight", {300, 140}, "F8_E4M3");
  if (!type.empty()) {
    writer.add_zeros("model.layers.0.mlp.up_proj.weight_scale_inv", scales, type);
  }
  return writer;
}

TEST(HfSource, Fp8HasItsScales) {
  for (const char* type : {"F32", "BF16", "F16"}) {
    ModelSource source = fp8_folder({3, 2}, type).source();
    ASSERT_EQ(source.tensors().size(), 1u);
    const SourceTensor& tensor = source.tensors()[0];
    EXPECT_EQ(tensor.dtype, DType::kF8E4M3);
    ASSERT_EQ(tensor.runs.size(), 1u);
    EXPECT_EQ(tensor.runs[0].scales.rows, 3u);
    EXPECT_EQ(tensor.runs[0].scales.k, 2u);
    EXPECT_EQ(tensor.n_bytes(), 300u * 140);
  }
  expect_in(folder_error(fp8_folder({}, "")),
            "its scales 'model.layers.0.mlp.up_proj.weight_scale_inv' are missing");
  expect_in(folder_error(fp8_folder({3, 3}, "F32")), "is 3 x 3 instead of 3 x 2 scales");
  expect_in(folder_error(fp8_folder({6}, "F32")), "is 6 instead of 3 x 2 scales");
  expect_in(folder_error(fp8_folder({3, 2}, "F64")), "stored as F64 instead of F32, BF16 or F16");
  HfFolderWriter orphan(all_hf_families());
  set_common(orphan, "Qwen3ForCausalLM");
  orphan.add_zeros("model.layers.0.mlp.up_proj.weight", {300, 140}, "BF16");
  orphan.add_zeros("model.layers.0.mlp.up_proj.weight_scale_inv", {3, 2}, "F32");
  expect_in(folder_error(orphan), "holds scales of a tensor that is not F8_E4M3");
}

TEST(HfSource, TypesThatAreNotReadAndShapesThatDoNotFit) {
  HfFolderWriter writer = tiny_llama_folder();
  writer.add_zeros("model.layers.0.mlp.up_proj.weight", {20, 12}, "I64");
  expect_in(folder_error(writer), "'model.layers.0.mlp.up_proj.weight' is stored as I64");
  ModelSource kept = writer.source(UnknownTypes::kKeep);
  const SourceTensor& tensor = kept.require_tensor("blk.0.ffn_up.weight");
  EXPECT_FALSE(tensor.type_known);
  EXPECT_EQ(tensor.type_text, "I64");
  EXPECT_EQ(tensor.n_bytes(), 0u);
  HfFolderWriter heads = tiny_llama_folder();
  heads.set("num_attention_heads", "6");
  expect_in(folder_error(heads), "q_proj.weight' is 12 x 12, but config.json requires 6 heads");
  HfFolderWriter none = tiny_llama_folder();
  none.add_zeros("model.layers.0.mlp.up_proj.weight", {0, 12}, "F32");
  expect_in(folder_error(none), "has no elements");
}

TEST(HfSource, TheTableMayBeTheHead) {
  HfFolderWriter writer = tiny_llama_folder();
  add_counted(writer, "lm_head.weight", {7, 12});
  EXPECT_NE(writer.source().find_tensor("output.weight"), nullptr);
  writer.set("tie_word_embeddings", "true");
  EXPECT_EQ(writer.source().find_tensor("output.weight"), nullptr);
}

TEST(HfSource, FactorsOfLlama3AreATensor) {
  HfFolderWriter writer = tiny_llama_folder();
  writer.set("rope_scaling", R"({"rope_type": "llama3", "factor": 8.0})");
  ModelSource source = writer.source();
  const SourceTensor& factors = source.require_tensor("rope_freqs.weight");
  EXPECT_EQ(factors.dims, (Shape{2}));
  EXPECT_EQ(row_of(factors, 0)[0], 1);
}

TEST(HfSource, ChatTemplates) {
  HfFolderWriter writer = tiny_llama_folder();
  EXPECT_FALSE(writer.source().chat_template());
  writer.put("tokenizer_config.json", R"({"chat_template": "one"})");
  EXPECT_EQ(writer.source().chat_template(), "one");
  writer.put("tokenizer_config.json",
             R"({"chat_template": [{"name": "tool_use", "template": "x"},
                                   {"name": "default", "template": "two"}]})");
  EXPECT_EQ(writer.source().chat_template(), "two");
  writer.put("chat_template.jinja", "three");
  EXPECT_EQ(writer.source().chat_template(), "three");
  writer.put("chat_template.jinja", " \n");
  EXPECT_EQ(writer.source().chat_template(), "two") << "a blank one is none";
  // A byte-order mark does not belong to the template's text.
  const std::string mark = "\xef\xbb\xbf";
  writer.put("chat_template.jinja", mark + "four");
  EXPECT_EQ(writer.source().chat_template(), "four");
  writer.put("chat_template.jinja", mark + "\n");
  EXPECT_EQ(writer.source().chat_template(), "two");
}

TEST(HfSource, IndexesThatNamePathsOrWhatIsNotThere) {
  auto error = [](const std::string& map) {
    HfFolderWriter writer = mixtral_folder();
    writer.put("model.safetensors.index.json", "{\"weight_map\": " + map + "}");
    return folder_error(writer);
  };
  for (const char* name : {"../x.safetensors", "/x.safetensors", "a/b.safetensors", "..", "", "x",
                           "a\\\\b.safetensors", ".x.safetensors"}) {
    expect_in(error(fmt::format(R"({{"a": "{}"}})", name)), "', which is not the plain name of a");
  }
  expect_in(error("{}"), "no weight_map");
  expect_in(error("[]"), "no weight_map");
  expect_in(error(R"({"a": 1})"), "names no file for tensor 'a'");
  expect_in(error(R"({"a": "model-00001-of-00003.safetensors"})"),
            "places tensor 'a' in 'model-00001-of-00003.safetensors', which does not have it");
  HfFolderWriter damaged = mixtral_folder();
  damaged.put("model.safetensors.index.json", "{");
  expect_in(folder_error(damaged), "index.json': the JSON is incomplete: it ends at byte 1");
  HfFolderWriter twice = mixtral_folder();
  add_counted(twice, "model.layers.0.block_sparse_moe.experts.0.w1.weight", {20, 12}, 0, 1);
  expect_in(folder_error(twice), "is in both 'folder/model-00002-of-00003.safetensors' and");
}

TEST(HfSource, OpensAFolderAndWhatLiesInIt) {
  TestFolder folder;
  mixtral_folder().save(folder.path());
  const std::string plain = folder.path().substr(0, folder.path().size() - 1);
  for (const std::string& path : {folder.path(), plain, folder.path() + "config.json",
                                  folder.path() + "model-00002-of-00003.safetensors",
                                  folder.path() + "model.safetensors.index.json"}) {
    ModelSource source = open_model_source(path);
    EXPECT_EQ(source.name(), plain);
    EXPECT_EQ(source.tensors().size(), 2u);
  }
  EXPECT_EQ(hf_folder_of("model.gguf"), "");
  EXPECT_EQ(hf_folder_of("config.json"), ".");
}

// The cache of the Hugging Face hub holds files under other names, and links to them.
TEST(HfSource, LinksAreFollowed) {
  TestFolder folder;
  fs::create_directories(folder.path() + "blobs");
  fs::create_directories(folder.path() + "snapshot");
  mixtral_folder().save(folder.path() + "blobs");
  for (const auto& file : fs::directory_iterator(folder.path() + "blobs")) {
    const std::string name = file.path().filename();
    fs::rename(file.path(), folder.path() + "blobs/0" + name + "0");
    fs::create_symlink("../blobs/0" + name + "0", folder.path() + "snapshot/" + name);
  }
  EXPECT_EQ(open_model_source(folder.path() + "snapshot").tensors().size(), 2u);
}

TEST(HfSource, FoldersThatAreIncomplete) {
  TestFolder folder;
  auto error = [&] { return file_error([&] { open_model_source(folder.path()); }); };
  auto touch = [&](const char* name) { std::ofstream(folder.path() + name) << "x"; };
  expect_in(error(), "is a folder without config.json");
  expect_in(file_error([&] { open_model_source(folder.path() + "no/config.json"); }),
            "does not exist");
  touch("config.json");
  expect_in(error(), "has no weights");
  touch("pytorch_model.bin");
  expect_in(error(),
            "' has its weights in PyTorch pickle files (.bin), which are not read, as they may "
            "contain programs; download or convert the model as safetensors");
  touch("m.gguf");
  expect_in(error(), "name the .gguf file in it");
  touch("other.safetensors");
  expect_in(error(), "has 1 .safetensors files, but neither model.safetensors nor");
  mixtral_folder().save(folder.path());
  fs::remove(folder.path() + "model-00002-of-00003.safetensors");
  expect_in(error(), "has no 'model-00002-of-00003.safetensors', which");
  mixtral_folder().save(folder.path());
  fs::resize_file(folder.path() + "model-00003-of-00003.safetensors", 900);
  expect_in(error(), "00003.safetensors': the data of tensor");
}

}  // namespace
}  // namespace hearth
