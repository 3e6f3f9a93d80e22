// Tests the specs of encoders, and their refusals. No tensor has data: specs are made, and files
// are refused, without reading any.
#include "models/encoder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "formats/gguf.h"
#include "models/axis_cutting.h"
#include "models/test_source.h"
#include "models/weight_table.h"

namespace hearth {
namespace {

// Returns a line for each weight: "name member layer rows x k of its tensor from first".
std::vector<std::string> weight_texts(const ModelSpec& spec) {
  std::vector<std::string> texts;
  for (const WeightSpec& weight : spec.weights) {
    texts.push_back(fmt::format("{} '{}' {}x{}{}", weight.name, weight.member, weight.rows,
                                weight.k,
                                weight.first > 0 ? fmt::format(" from {}", weight.first) : ""));
  }
  return texts;
}

// Return blocks of the first layer.
const AttentionBlock& attention_of(const TestModel& model) {
  return *model.spec().block<AttentionBlock>(0);
}
const FeedForwardBlock& feed_forward_of(const TestModel& model) {
  return *model.spec().block<FeedForwardBlock>(0);
}

TEST(Encoder, WeightsOfABert) {
  TestModel model(encoder_source({}));
  EXPECT_EQ(weight_texts(model.spec()),
            (std::vector<std::string>{
                "token_embd.weight 'embedding' 100x48",
                "token_types.weight 'type' 1x48",
                "token_types.weight 'second_type' 1x48 from 48",
                "position_embd.weight 'positions' 40x48",
                "token_embd_norm.weight 'norm' 1x48",
                "token_embd_norm.bias 'bias' 1x48",
                "blk.0.attn_q.weight 'q' 48x48",
                "blk.0.attn_q.bias 'bias' 1x48",
                "blk.0.attn_k.weight 'k' 48x48",
                "blk.0.attn_k.bias 'bias' 1x48",
                "blk.0.attn_v.weight 'v' 48x48",
                "blk.0.attn_v.bias 'bias' 1x48",
                "blk.0.attn_output.weight 'o' 48x48",
                "blk.0.attn_output.bias 'bias' 1x48",
                "blk.0.ffn_up.weight 'up' 70x48",
                "blk.0.ffn_up.bias 'bias' 1x70",
                "blk.0.ffn_down.weight 'down' 48x70",
                "blk.0.ffn_down.bias 'bias' 1x48",
                "blk.0.attn_output_norm.weight 'attn_output_norm' 1x48",
                "blk.0.attn_output_norm.bias 'bias' 1x48",
                "blk.0.layer_output_norm.weight 'layer_output_norm' 1x48",
                "blk.0.layer_output_norm.bias 'bias' 1x48",
            }));
}

TEST(Encoder, SpecOfABert) {
  TestModel bert(encoder_source({}));
  const ModelSpec& spec = bert.spec();
  EXPECT_TRUE(spec.is_encoder());
  EXPECT_FALSE(spec.has_kv_cache());
  const Block& last = spec.layers.at(0).blocks.at(1);
  EXPECT_EQ(last.norms.after->kind, NormKind::kLayer);
  EXPECT_EQ(last.norms.after->eps, 1e-12f);
  EXPECT_FALSE(last.norms.before || spec.last_norm || spec.head);
  EXPECT_EQ(feed_forward_of(bert).activation, Activation::kGelu);
  EXPECT_EQ(attention_of(bert).mask, Mask::kBidirectional);
  EXPECT_EQ(attention_of(bert).kept, KvKept::kForStep);
  EXPECT_FALSE(attention_of(bert).rope);
  EXPECT_EQ(spec.hyper.pooling, PoolingType::kCls);

  TestSource source = encoder_source({.architecture = "nomic-bert"});
  TestModel nomic(std::move(source.set("nomic-bert.rope.freq_base", 1000.0f)));
  EXPECT_EQ(feed_forward_of(nomic).activation, Activation::kSilu);
  EXPECT_EQ(attention_of(nomic).rope->n_rot, 16u);
  EXPECT_EQ(attention_of(nomic).rope->freq_base, 1000);
  EXPECT_EQ(attention_of(nomic).rope->layout, RopeLayout::kHalf);

  TestModel jina(encoder_source({.architecture = "jina-bert-v2"}));
  EXPECT_EQ(feed_forward_of(jina).activation, Activation::kGelu);
  EXPECT_EQ(attention_of(jina).max_alibi, 8);
}

TEST(Encoder, QueriesKeysAndValuesInOneTensor) {
  TestSource source = encoder_source({.architecture = "nomic-bert", .type = DType::kF16});
  TestModel model(std::move(source.add("blk.0.attn_qkv.bias", {144})));
  const ModelSpec& spec = model.spec();
  uint32_t first = 0;
  const AttentionBlock& attention = attention_of(model);
  for (const LinearRef& linear : {attention.query, attention.key, attention.value}) {
    const WeightSpec& weight = spec.weight(linear.weight);
    EXPECT_EQ(weight.data, model.source().find_tensor("blk.0.attn_qkv.weight"));
    EXPECT_EQ(weight.rows, 48u);
    EXPECT_EQ(weight.first, first);
    EXPECT_EQ(weight.item_size, 16u);
    EXPECT_EQ(spec.weight(linear.bias).first, first);
    EXPECT_EQ(spec.weight(linear.bias).k, 48u);
    first += 48;
  }
  EXPECT_EQ(spec.axes[spec.weight(attention.query.weight).axis].name, "heads");
  EXPECT_EQ(spec.axes[spec.weight(attention.value.weight).axis].name, "kv_heads");
}

// Each part of a joined tensor is cut like a tensor of its own.
TEST(Encoder, PartsHaveTheirBytes) {
  TestSource test_source = encoder_source({.architecture = "nomic-bert", .width = 64, .heads = 2});
  test_source.add("blk.0.attn_qkv.weight", {64, 192}, DType::kQ8_0);
  ModelSource source = parse_gguf(test_source.gguf(), "zeros.gguf");
  ModelSpec spec = make_spec(source);
  const std::byte* data = source.require_tensor("blk.0.attn_qkv.weight").data.data();
  const WeightId value_id = spec.block<AttentionBlock>(0)->value.weight;
  const WeightSpec& value = spec.weight(value_id);
  EXPECT_EQ(value.bytes().data(), data + 128 * 68);
  EXPECT_EQ(value.bytes().size(), 64u * 68);
  const WeightSpec& type = spec.weight(spec.embedding.type);
  EXPECT_EQ(type.bytes().data(), source.require_tensor("token_types.weight").data.data());
  EXPECT_EQ(type.bytes().size(), 64u * 4);
  std::vector<CutAxis> axes = cut_axes(spec, std::vector<uint32_t>{1, 1});
  WeightTable weights(spec, axes);
  EXPECT_EQ(weights.matrix(value_id).rows, 64u);
  EXPECT_EQ(weights.matrix(value_id).shards[1].row0, 32u);
}

TEST(Encoder, GateAndUpOfJina) {
  const EncoderShape shape{.architecture = "jina-bert-v2"};
  TestModel apart(encoder_source(shape));
  EXPECT_EQ(weight_named(apart.spec(), 0, "gate")->name, "blk.0.ffn_gate.weight");
  TestSource source = encoder_source(shape);
  source.remove("blk.0.ffn_gate.weight").add("blk.0.ffn_up.weight", {48, 140});
  TestModel fused(std::move(source.add("blk.0.ffn_up.bias", {140})));
  EXPECT_EQ(weight_named(fused.spec(), 0, "gate")->first, 0u);
  EXPECT_EQ(weight_named(fused.spec(), 0, "up")->first, 70u);
  EXPECT_EQ(weight_named(fused.spec(), 0, "up")->name, "blk.0.ffn_up.weight");
  EXPECT_EQ(fused.spec().weight(feed_forward_of(fused).up.bias).first, 70u);
  TestModel none(encoder_source(shape).remove("blk.0.ffn_gate.weight"));
  EXPECT_FALSE(feed_forward_of(none).gate.weight);
  EXPECT_EQ(weight_named(none.spec(), 0, "up")->rows, 70u);
}

TEST(Encoder, ReadsNormsOfJinaForCode) {
  TestSource source = encoder_source({.architecture = "jina-bert-v2"});
  for (const char* name : {"attn_q_norm", "attn_k_norm", "attn_norm_2"}) {
    source.add(fmt::format("blk.0.{}.weight", name), {48});
    source.add(fmt::format("blk.0.{}.bias", name), {48});
  }
  TestModel model(std::move(source));
  const ModelSpec& spec = model.spec();
  const HeadNorms& norms = *attention_of(model).norms;
  EXPECT_EQ(norms.span, HeadNormSpan::kRow);
  EXPECT_EQ(spec.weight(norms.query.bias).name, "blk.0.attn_q_norm.bias");
  EXPECT_EQ(spec.weight(norms.key.weight).k, 48u);
  const BlockNorms& joined = spec.layers[0].blocks[0].norms;
  EXPECT_EQ(spec.weight(joined.inner->weight).name, "blk.0.attn_output_norm.weight");
  EXPECT_EQ(spec.weight(joined.after->bias).name, "blk.0.attn_norm_2.bias");
}

// One row may be stored with one dimension, and some tensors are optional.
TEST(Encoder, FilesMayHaveLess) {
  TestSource source = encoder_source({.types = 1});
  source.add("token_types.weight", {48}).remove("blk.0.attn_q.bias");
  source.remove("blk.0.layer_output_norm.bias").remove("blk.0.ffn_up.bias");
  TestModel model(std::move(source));
  EXPECT_EQ(model.spec().weight(model.spec().embedding.type).k, 48u);
  EXPECT_FALSE(attention_of(model).query.bias);
  TestModel none(encoder_source({}).remove("token_types.weight"));
  EXPECT_FALSE(none.spec().embedding.type);
}

template <typename T>
void expect_refused(const char* key, T value, const char* says, const char* architecture = "bert") {
  TestSource source = encoder_source({.architecture = architecture});
  source.set(std::string(architecture) + "." + key, value);
  EXPECT_NE(spec_refusal(std::move(source), ErrorCode::kFile).find(says), std::string::npos)
      << key << ": " << spec_refusal(std::move(source), ErrorCode::kFile);
}

TEST(Encoder, KeysThatCannotBe) {
  expect_refused("attention.causal", true, "attention.causal = true, but the value must be false");
  expect_refused("attention.causal", uint32_t{0}, "attention.causal");
  expect_refused("pooling_type", uint32_t{5}, "pooling_type = 5, but the value must be 0 to 4");
  expect_refused("attention.layer_norm_epsilon", 0.0f, "a positive number");
  expect_refused("context_length", uint32_t{41}, "position_embd.weight is 48 x 40");
  expect_refused("context_length", uint32_t{1} << 24, "position_embd.weight is 48 x 40");
  for (float most : {0.0f, -1.0f, 65.0f, std::nanf(""), std::numeric_limits<float>::infinity()}) {
    expect_refused("attention.max_alibi_bias", most, "attention.max_alibi_bias", "jina-bert-v2");
  }
  TestSource source = encoder_source({});
  for (uint32_t types : {0u, 1u, 3u, 0xffffffffu}) {
    source.set("tokenizer.ggml.token_type_count", types);
    EXPECT_NE(spec_refusal(source, ErrorCode::kFile)
                  .find("tensor token_types.weight is 48 x 2, but must have one row for each of"),
              std::string::npos);
  }
}

TEST(Encoder, TensorsThatCannotBe) {
  auto says = [](TestSource source, ErrorCode code, const char* what) {
    std::string error = spec_refusal(std::move(source), code);
    EXPECT_NE(error.find(what), std::string::npos) << error;
  };
  const EncoderShape nomic{.architecture = "nomic-bert"}, jina{.architecture = "jina-bert-v2"};
  says(encoder_source({}).remove("position_embd.weight"), ErrorCode::kFile,
       "'position_embd.weight' is missing");
  says(encoder_source({}).remove("token_embd_norm.weight"), ErrorCode::kFile, "is missing");
  says(encoder_source({}).add("token_types.weight", {48, 2, 2}), ErrorCode::kFile, "48 x 2 x 2");
  says(encoder_source({}).add("token_types.weight", {24, 2}), ErrorCode::kFile, "requires 48 x 2");
  says(encoder_source(nomic).add("blk.0.attn_qkv.weight", {48, 143}), ErrorCode::kFile,
       "requires 48 x 144");
  says(encoder_source(nomic).add("blk.0.attn_qkv.bias", {48}), ErrorCode::kFile,
       "requires 144 x 1");
  says(encoder_source(nomic).remove("blk.0.ffn_gate.weight"), ErrorCode::kFile,
       "'blk.0.ffn_gate.weight' is missing");
  says(encoder_source(nomic).add("position_embd.weight", {48, 40}), ErrorCode::kUnsupported,
       "position_embd.weight");
  // Tensors of RoPE's factors are refused in models without RoPE.
  for (const EncoderShape& shape : {EncoderShape{}, jina}) {
    says(encoder_source(shape).add("rope_freqs.weight", {8}), ErrorCode::kUnsupported,
         "rope_freqs.weight");
  }
  // Separate tensors of Q, K and V beside a fused one are refused.
  says(encoder_source({}).add("blk.0.attn_qkv.weight", {48, 144}), ErrorCode::kUnsupported,
       "blk.0.attn_q.weight");
  says(encoder_source(jina).add("blk.0.attn_q_norm.weight", {48}), ErrorCode::kFile,
       "normalises the queries of layer 0 but not the keys");
  says(encoder_source(jina).remove("blk.0.ffn_gate.weight").add("blk.0.ffn_up.weight", {48, 71}),
       ErrorCode::kFile, "requires 48 x 140");
  // A block of 32 would hold the end of one vector and the beginning of the next.
  says(encoder_source(nomic).add("blk.0.attn_qkv.bias", {144}, DType::kQ8_0),
       ErrorCode::kUnsupported,
       "whose blocks span several of its vectors: this version does not support it");
}

std::vector<std::string> score_texts(const ModelSpec& spec) {
  std::vector<std::string> texts = weight_texts(spec);
  std::erase_if(texts, [](const std::string& text) { return !text.starts_with("cls"); });
  return texts;
}

TEST(Encoder, HeadsOfRerankers) {
  EXPECT_FALSE(TestModel(encoder_source({})).spec().score);
  TestModel both(encoder_source({})
                     .add("cls.weight", {48, 48}, DType::kF16)
                     .add("cls.bias", {48})
                     .add("cls.output.weight", {48, 1}, DType::kQ8_0)
                     .add("cls.output.bias", {1}));
  EXPECT_EQ(
      score_texts(both.spec()),
      (std::vector<std::string>{"cls.weight 'score_dense' 48x48", "cls.bias 'bias' 1x48",
                                "cls.output.weight 'score' 1x48", "cls.output.bias 'bias' 1x1"}));
  const ScoreBlock& score = *both.spec().score;
  for (const LinearRef& linear : {score.dense, score.out}) {
    EXPECT_EQ(both.spec().weight(linear.weight).cut, WeightCut::kReplicated);
    EXPECT_EQ(both.spec().weight(linear.weight).packed, PackedType(DType::kF32));
  }
  for (const char* name : {"cls.weight", "cls.output.weight"}) {
    TestModel one(encoder_source({}).add(name, {48}));
    EXPECT_FALSE(one.spec().score->dense.weight) << name;
    EXPECT_EQ(one.spec().weight(one.spec().score->out.weight).name, name);
  }
}

TEST(Encoder, HeadsOfYesAndNo) {
  auto source = [](std::vector<std::string> labels) {
    return llama_source({})
        .add("cls.output.weight", {64, 2})
        .set("llama.classifier.output_labels", std::move(labels));
  };
  EXPECT_EQ(TestModel(source({"yes", "no"})).spec().score->yes, 0u);
  EXPECT_EQ(TestModel(source({"no", "yes"})).spec().score->yes, 1u);
  auto says = [](TestSource of, ErrorCode code, const char* text) {
    EXPECT_NE(spec_refusal(std::move(of), code).find(text), std::string::npos) << text;
  };
  says(source({"maybe", "no"}), ErrorCode::kUnsupported,
       "is a classifier with 2 classes (llama.classifier.output_labels maybe, no)");
  says(encoder_source({}).add("cls.output.weight", {48, 3}), ErrorCode::kUnsupported,
       "is a classifier with 3 classes");
  says(encoder_source({}).add("cls.weight", {48, 48}), ErrorCode::kFile, "no cls.output.weight");
  says(encoder_source({}).add("cls.weight", {48, 47}).add("cls.output.weight", {48, 1}),
       ErrorCode::kFile, "requires 48 x 48");
}

TEST(Encoder, DecodersThatGiveVectors) {
  TestModel last(llama_source({}).set("llama.pooling_type", uint32_t{3}));
  EXPECT_EQ(last.spec().hyper.pooling, PoolingType::kLast);
  EXPECT_FALSE(last.spec().is_encoder());
  TestModel both(llama_source({}).set("llama.attention.causal", false));
  EXPECT_TRUE(both.spec().is_encoder());
  EXPECT_FALSE(both.spec().has_kv_cache());
  EXPECT_FALSE(both.spec().head);
  TestSource window = llama_source({.window = 9});
  EXPECT_NE(spec_refusal(window.set("llama.attention.causal", false), ErrorCode::kUnsupported)
                .find("a sliding window of 9 positions"),
            std::string::npos);
}

TEST(Encoder, PoolingHasNames) {
  EXPECT_STREQ(pooling_name(PoolingType::kNone), "none");
  EXPECT_STREQ(pooling_name(PoolingType::kMean), "mean");
  EXPECT_STREQ(pooling_name(PoolingType::kRank), "rank");
}

}  // namespace
}  // namespace hearth
