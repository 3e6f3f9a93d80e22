// Tests folders of encoders: the metadata and tensors that are made of config.json, of
// sentence-transformers' files and of their tensors' names.
#include <gtest/gtest.h>

#include <cstring>

#include "formats/gguf_test_bytes.h"
#include "formats/hf_config.h"
#include "formats/hf_names.h"
#include "formats/test_hf_folder.h"
#include "models/architectures.h"
#include "models/registry.h"

namespace hearth {
namespace {

using Shape = std::vector<uint64_t>;

void add_counted(HfFolderWriter& writer, std::string_view name, const Shape& shape) {
  std::vector<float> values(1);
  for (uint64_t dim : shape) values.resize(values.size() * dim);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  writer.add(name, shape, "F32", std::as_bytes(std::span(values)));
}

// Returns the first value of a contiguous tensor. Stored tensors count up, so it is the index in
// the stored tensor at which the tensor begins.
float first_of(const ModelSource& source, std::string_view name) {
  float value = -1;
  std::memcpy(&value, source.require_tensor(name).data.data(), sizeof value);
  return value;
}

HfFolderWriter bert(const std::string& architecture, const std::string& prefix = "",
                    bool pooler = true) {
  HfFolderWriter writer(all_hf_families());
  writer.set("architectures", "[\"" + architecture + "\"]");
  for (auto [key, value] :
       {std::pair{"hidden_size", "8"}, std::pair{"num_hidden_layers", "1"},
        std::pair{"num_attention_heads", "2"}, std::pair{"intermediate_size", "12"},
        std::pair{"max_position_embeddings", "10"}, std::pair{"vocab_size", "7"},
        std::pair{"layer_norm_eps", "1e-5"}, std::pair{"hidden_act", "\"gelu\""}}) {
    writer.set(key, value);
  }
  const std::string e = prefix + "embeddings.", layer = prefix + "encoder.layer.0.";
  add_counted(writer, e + "word_embeddings.weight", {7, 8});
  add_counted(writer, e + "position_embeddings.weight", {10, 8});
  add_counted(writer, e + "token_type_embeddings.weight", {2, 8});
  add_counted(writer, e + "LayerNorm.weight", {8});
  add_counted(writer, e + "LayerNorm.bias", {8});
  writer.add_zeros(e + "position_ids", {1, 10}, "I64");
  add_counted(writer, layer + "attention.self.query.weight", {8, 8});
  add_counted(writer, layer + "attention.output.LayerNorm.gamma", {8});
  add_counted(writer, layer + "intermediate.dense.bias", {12});
  add_counted(writer, layer + "output.dense.weight", {8, 12});
  if (pooler) writer.add_zeros(prefix + "pooler.dense.weight", {8, 8}, "F32");
  return writer;
}

TEST(HfEncoder, TensorsAndKeysOfABert) {
  for (const char* prefix : {"", "bert."}) {
    ModelSource source = bert("BertModel", prefix).source();
    EXPECT_EQ(source.tensors().size(), 9u);
    for (const char* name :
         {"token_embd.weight", "token_types.weight", "token_embd_norm.weight",
          "token_embd_norm.bias", "blk.0.attn_q.weight", "blk.0.attn_output_norm.weight",
          "blk.0.ffn_up.bias", "blk.0.ffn_down.weight"}) {
      EXPECT_NE(source.find_tensor(name), nullptr) << name;
    }
    EXPECT_EQ(source.require_tensor("position_embd.weight").dims, (Shape{8, 10}));
    const Metadata& metadata = source.metadata();
    EXPECT_EQ(metadata.require<std::string>("general.architecture"), "bert");
    EXPECT_EQ(metadata.require<uint32_t>("bert.context_length"), 10u);
    EXPECT_EQ(metadata.require<uint32_t>("bert.feed_forward_length"), 12u);
    EXPECT_EQ(metadata.require<float>("bert.attention.layer_norm_epsilon"), 1e-5f);
    EXPECT_FALSE(metadata.require<bool>("bert.attention.causal"));
    EXPECT_EQ(metadata.find("bert.pooling_type"), nullptr);
    ASSERT_EQ(source.notes().size(), 1u);
    EXPECT_NE(source.notes()[0].find("2 tensors of a pooler"), std::string::npos);
  }
}

// XLM-R numbers its positions from pad_token_id + 1 on.
TEST(HfEncoder, PositionsOfXlmRobertaBeginBehindThePadding) {
  ModelSource source = bert("XLMRobertaModel", "roberta.").source();
  EXPECT_EQ(source.metadata().require<uint32_t>("bert.context_length"), 8u);
  EXPECT_EQ(source.require_tensor("position_embd.weight").dims, (Shape{8, 8}));
  EXPECT_EQ(first_of(source, "position_embd.weight"), 16);
}

// Heads of rerankers, which are ignored in models that give vectors.
TEST(HfEncoder, HeadsThatScorePairs) {
  HfFolderWriter pooled = bert("BertForSequenceClassification", "bert.");
  pooled.add_zeros("bert.pooler.dense.bias", {8}, "F32");
  add_counted(pooled, "classifier.weight", {1, 8});
  add_counted(pooled, "classifier.bias", {1});
  HfFolderWriter own = bert("XLMRobertaForSequenceClassification", "roberta.", /*pooler=*/false);
  add_counted(own, "classifier.dense.weight", {8, 8});
  add_counted(own, "classifier.dense.bias", {8});
  add_counted(own, "classifier.out_proj.weight", {1, 8});
  add_counted(own, "classifier.out_proj.bias", {1});
  for (const HfFolderWriter* writer : {&pooled, &own}) {
    ModelSource source = writer->source();
    EXPECT_EQ(source.require_tensor("cls.weight").dims, (Shape{8, 8}));
    EXPECT_EQ(source.require_tensor("cls.bias").dims, (Shape{8}));
    EXPECT_EQ(source.require_tensor("cls.output.weight").dims, (Shape{8, 1}));
    EXPECT_EQ(source.require_tensor("cls.output.bias").dims, (Shape{1}));
    EXPECT_EQ(source.metadata().require<uint32_t>("bert.pooling_type"), 4u);
  }
  EXPECT_EQ(own.source().metadata().require<uint32_t>("bert.context_length"), 8u);
}

TEST(HfEncoder, HalvesOfJinasFeedForward) {
  for (const bool code : {false, true}) {
    HfFolderWriter writer = bert("JinaBertModel");
    writer.set("position_embedding_type", "\"alibi\"");
    writer.set("feed_forward_type", "\"geglu\"");
    writer.set("emb_pooler", "\"mean\"");
    const std::string layer = "encoder.layer.0.";
    add_counted(writer, layer + (code ? "mlp.up_gated_layer.weight" : "mlp.gated_layers.weight"),
                {24, 8});
    ModelSource source = writer.source();
    EXPECT_EQ(source.require_tensor("blk.0.ffn_gate.weight").dims, (Shape{8, 12}));
    EXPECT_EQ(source.require_tensor("blk.0.ffn_up.weight").dims, (Shape{8, 12}));
    EXPECT_EQ(first_of(source, "blk.0.ffn_gate.weight"), code ? 96 : 0);
    EXPECT_EQ(first_of(source, "blk.0.ffn_up.weight"), code ? 0 : 96);
    EXPECT_EQ(source.metadata().require<uint32_t>("jina-bert-v2.pooling_type"), 1u);
  }
}

TEST(HfEncoder, NamesOfNomicAndJina) {
  auto gguf = [](std::string_view name) {
    const HfFamily& family =
        name.find("layer.") != name.npos ? kJinaBertV2Folder : kNomicBertFolder;
    return parse_hf_name(name, family).gguf;
  };
  EXPECT_EQ(gguf("emb_ln.weight"), "token_embd_norm.weight");
  EXPECT_EQ(gguf("encoder.layers.3.attn.Wqkv.weight"), "blk.3.attn_qkv.weight");
  EXPECT_EQ(gguf("encoder.layers.3.attn.out_proj.weight"), "blk.3.attn_output.weight");
  EXPECT_EQ(gguf("encoder.layers.3.norm1.bias"), "blk.3.attn_output_norm.bias");
  EXPECT_EQ(gguf("encoder.layers.3.norm2.bias"), "blk.3.layer_output_norm.bias");
  EXPECT_EQ(gguf("encoder.layers.3.mlp.fc11.weight"), "blk.3.ffn_up.weight");
  EXPECT_EQ(gguf("encoder.layers.3.mlp.fc12.weight"), "blk.3.ffn_gate.weight");
  EXPECT_EQ(gguf("encoder.layers.3.mlp.fc2.weight"), "blk.3.ffn_down.weight");
  EXPECT_EQ(gguf("encoder.layer.1.attention.self.layer_norm_q.bias"), "blk.1.attn_q_norm.bias");
  EXPECT_EQ(gguf("encoder.layer.1.layer_norm_1.weight"), "blk.1.attn_norm_2.weight");
  EXPECT_EQ(gguf("encoder.layer.1.mlp.layernorm.weight"), "blk.1.layer_output_norm.weight");
  EXPECT_EQ(gguf("encoder.layer.1.mlp.wo.bias"), "blk.1.ffn_down.bias");
  EXPECT_EQ(parse_hf_name("score.weight", kQwen3RankFolder).gguf, "cls.output.weight");
  for (const char* name : {"", "encoder.layer.x.output.dense.weight", "encoder.layer.1.weight",
                           "embeddings.word_embeddings", "classifier.weight"}) {
    EXPECT_EQ(parse_hf_name(name, kBertFolder).row, nullptr) << name;
  }
}

constexpr const char* kModules = R"([
    {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
    {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
    {"idx": 2, "name": "2", "path": "2_Normalize",
     "type": "sentence_transformers.models.Normalize"}])";

TEST(HfEncoder, FilesOfSentenceTransformers) {
  HfFolderWriter writer = bert("BertModel");
  writer.put("modules.json", kModules);
  writer.put("sentence_bert_config.json", R"({"max_seq_length": 6, "do_lower_case": false})");
  for (auto [pooling, type] :
       {std::pair{R"({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false})", 2u},
        std::pair{R"({"pooling_mode_mean_tokens": true})", 1u},
        std::pair{R"({"pooling_mode_lasttoken": true})", 3u},
        std::pair{R"({"pooling_mode": "mean"})", 1u}}) {
    writer.put("1_Pooling/config.json", pooling);
    ModelSource source = writer.source();
    EXPECT_EQ(source.metadata().require<uint32_t>("bert.pooling_type"), type);
    EXPECT_EQ(source.metadata().require<uint32_t>("bert.context_length"), 6u);
    EXPECT_EQ(source.require_tensor("position_embd.weight").dims, (Shape{8, 6}));
  }
  auto error = [&] { return file_error([&] { writer.source(); }); };
  writer.put("1_Pooling/config.json", R"({"pooling_mode_mean_tokens": false})");
  EXPECT_NE(error().find("pooling_mode_mean_tokens = false"), std::string::npos) << error();
  writer.put("modules.json", "[]" + std::string(kMaxConfigBytes, ' '));
  EXPECT_NE(error().find("more than the limit of 8388608"), std::string::npos) << error();
  writer.put("modules.json", R"([{"type": "a.Pooling", "path": "../x"}])");
  EXPECT_NE(error().find("the plain name of a folder"), std::string::npos) << error();
  writer.put("modules.json", R"([{"type": "a.Pooling", "path": "2_Pooling"}])");
  EXPECT_NE(error().find("'2_Pooling', which has no config.json"), std::string::npos) << error();
}

TEST(HfEncoder, NamesUnsupportedConfigurations) {
  struct Case {
    const char* key;
    const char* value;
  };
  constexpr Case kCases[] = {{"hidden_act", "\"relu\""},
                             {"position_embedding_type", "\"relative_key\""},
                             {"is_decoder", "true"},
                             {"quantization_config", "{}"}};
  for (const Case& test : kCases) {
    HfFolderWriter writer = bert("BertModel");
    writer.set(test.key, test.value);
    try {
      writer.source();
      ADD_FAILURE() << test.key;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
      EXPECT_NE(std::string_view(error.what()).find(test.key), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace hearth
