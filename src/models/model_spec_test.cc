// Tests the spec of a model, and its refusals. No tensor has data: specs are made, and files are
// refused, without reading any.
#include "models/model_spec.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "formats/gguf.h"
#include "graph/ops/reduce.h"
#include "models/axis_cutting.h"
#include "models/make_blocks.h"
#include "models/registry.h"
#include "models/test_source.h"
#include "models/weight_table.h"

namespace hearth {
namespace {

// Returns "name member layer rows x k, cut along axis by item_size".
std::string text_of(const ModelSpec& spec, const WeightSpec& weight) {
  std::string text = fmt::format("{} '{}' {} {}x{}", weight.name, weight.member, weight.layer,
                                 weight.rows, weight.k);
  if (!weight.is_matrix()) return text;
  return text + fmt::format(" {} of {} by {}", weight.cut == WeightCut::kRows ? "rows" : "columns",
                            spec.axes[weight.axis].name, weight.item_size);
}

std::vector<std::string> texts_of(const ModelSpec& spec) {
  std::vector<std::string> texts;
  for (const WeightSpec& weight : spec.weights) texts.push_back(text_of(spec, weight));
  return texts;
}

constexpr LlamaShape kTiny{.layers = 1,
                           .width = 64,
                           .heads = 4,
                           .kv_heads = 2,
                           .key_length = 16,
                           .value_length = 24,
                           .ffn = 96,
                           .vocabulary = 100,
                           .window = 50};

TEST(ModelSpec, WeightsOfALlama) {
  TestModel model(kTiny);
  EXPECT_EQ(texts_of(model.spec()),
            (std::vector<std::string>{
                "token_embd.weight 'embedding' -1 100x64 rows of vocabulary by 1",
                "blk.0.attn_q.weight 'q' 0 64x64 rows of heads by 16",
                "blk.0.attn_k.weight 'k' 0 32x64 rows of kv_heads by 16",
                "blk.0.attn_v.weight 'v' 0 48x64 rows of kv_heads by 24",
                "blk.0.attn_output.weight 'o' 0 64x96 columns of heads by 24",
                "blk.0.ffn_gate.weight 'gate' 0 96x64 rows of ffn by 1",
                "blk.0.ffn_up.weight 'up' 0 96x64 rows of ffn by 1",
                "blk.0.ffn_down.weight 'down' 0 64x96 columns of ffn by 1",
                "blk.0.attn_norm.weight 'attn_norm' 0 1x64",
                "blk.0.ffn_norm.weight 'ffn_norm' 0 1x64",
                "output_norm.weight 'norm' -1 1x64",
            }));
  for (const WeightSpec& weight : model.spec().weights) {
    EXPECT_EQ(weight.data, model.source().find_tensor(weight.name));
  }
}

TEST(ModelSpec, AxesLayersAndNorms) {
  TestModel model(kTiny);
  const ModelSpec& spec = model.spec();
  EXPECT_STREQ(spec.architecture->name, "llama");
  EXPECT_EQ(spec.source, "test.gguf");
  ASSERT_EQ(spec.axes.size(), 4u);
  for (const AxisSpec& axis : spec.axes) {
    uint32_t items = axis.name == "heads"      ? 4
                     : axis.name == "kv_heads" ? 2
                     : axis.name == "ffn"      ? 96
                                               : 100;
    EXPECT_EQ(axis.items, items) << axis.name;
    EXPECT_EQ(axis.kv_axis.has_value(), axis.name == "heads");
  }
  EXPECT_EQ(spec.axes[spec.vocabulary_axis].name, "vocabulary");
  EXPECT_EQ(spec.axes[spec.vocabulary_axis].unit_items, kPanelRows);
  const AxisSpec& heads = spec.axes[*spec.head_axis(0)];
  EXPECT_EQ(spec.axes[*heads.kv_axis].name, "kv_heads");
  EXPECT_EQ(heads.item_columns, 24u);

  ASSERT_EQ(spec.layers.size(), 1u);
  const AttentionBlock& attention = *spec.block<AttentionBlock>(0);
  EXPECT_EQ(attention.heads, 4u);
  EXPECT_EQ(attention.kv_heads, 2u);
  EXPECT_EQ(attention.group_size(), 2u);
  EXPECT_EQ(attention.key_length, 16u);
  EXPECT_EQ(attention.value_length, 24u);
  EXPECT_EQ(attention.window, 50u);
  EXPECT_EQ(attention.scale, 0.25f);
  EXPECT_EQ(attention.mask, Mask::kCausal);
  EXPECT_EQ(attention.kept, KvKept::kCached);
  EXPECT_TRUE(spec.has_kv_cache());
  for (const Block& block : spec.layers[0].blocks) {
    EXPECT_EQ(block.norms.before->kind, NormKind::kRms);
    EXPECT_FALSE(block.norms.behind || block.norms.inner || block.norms.after);
  }
}

// The shards of each weight cover it, and weights on one axis are cut at the same places.
TEST(ModelSpec, CutsCoverEveryWeight) {
  LlamaShape shape = kTiny;
  shape.value_length = 32;
  TestModel model(shape);
  std::vector<CutAxis> axes = cut_axes(model.spec(), std::vector<uint32_t>{1, 1});
  WeightTable weights(model.spec(), axes);
  for (uint32_t i = 0; i < model.spec().weights.size(); ++i) {
    const WeightSpec& weight = model.spec().weights[i];
    if (!weight.is_matrix()) continue;
    const Weight& cut = weights.matrix({i});
    bool rows = weight.cut == WeightCut::kRows;
    uint32_t covered = 0;
    for (const Shard& shard : cut.shards) {
      EXPECT_EQ(rows ? shard.row0 : shard.spec.k_origin, covered) << weight.name;
      covered += rows ? shard.spec.rows : shard.spec.k;
    }
    EXPECT_EQ(covered, rows ? weight.rows : weight.k) << weight.name;
  }
  const AttentionBlock& attention = *model.spec().block<AttentionBlock>(0);
  EXPECT_EQ(weights.matrix(attention.query.weight).shards[0].spec.rows, 32u);
  EXPECT_EQ(weights.matrix(attention.key.weight).shards[0].spec.rows, 16u);
  EXPECT_EQ(weights.matrix(attention.value.weight).shards[0].spec.rows, 32u);
  EXPECT_EQ(weights.matrix(attention.output.weight).shards[0].spec.k, 64u);
}

TEST(ModelSpec, TheTableIsTheHeadWhereThereIsNone) {
  TestModel tied(kTiny);
  EXPECT_EQ(tied.spec().weight(tied.spec().head).name, "token_embd.weight");
  LlamaShape shape = kTiny;
  shape.tied = false;
  TestModel untied(shape);
  EXPECT_EQ(untied.spec().weight(untied.spec().head).name, "output.weight");
}

TEST(ModelSpec, BiasesWhereThereAreSome) {
  TestSource source = llama_source(kTiny);
  source.add("blk.0.attn_q.bias", {64}).add("blk.0.attn_v.bias", {48});
  source.add("blk.0.attn_output.bias", {64});
  TestModel model(std::move(source));
  const ModelSpec& spec = model.spec();
  const AttentionBlock& attention = *spec.block<AttentionBlock>(0);
  EXPECT_EQ(spec.weight(attention.query.bias).k, 64u);
  EXPECT_FALSE(attention.key.bias);
  EXPECT_EQ(spec.weight(attention.value.bias).k, 48u);
  EXPECT_EQ(spec.weight(attention.output.bias).cut, WeightCut::kVector);
}

TEST(ModelSpec, MatrixBytesAreThoseOfTheSource) {
  LlamaShape shape = kTiny;
  shape.type = DType::kQ8_0;
  shape.value_length = 16;
  ModelSource source = parse_gguf(llama_source(shape).gguf(), "zeros.gguf");
  EXPECT_EQ(make_spec(source).matrix_bytes(),
            100u * 64 * 4 + (64 + 32 + 32 + 64 + 3 * 96) * 64u / 32 * 34);
}

TEST(ModelSpec, AMissingTensorIsNamed) {
  for (const char* name : {"token_embd.weight", "blk.0.attn_v.weight", "blk.0.ffn_norm.weight",
                           "output_norm.weight"}) {
    std::string error = spec_refusal(llama_source(kTiny).remove(name), ErrorCode::kFile);
    EXPECT_NE(error.find(fmt::format("'test.gguf': tensor '{}' is missing", name)),
              std::string::npos)
        << error;
  }
  // The metadata counts one layer more than the file has tensors of.
  EXPECT_NE(spec_refusal(llama_source(kTiny).set("llama.block_count", 2u), ErrorCode::kFile)
                .find("'blk.1.attn_q.weight' is missing"),
            std::string::npos);
}

TEST(ModelSpec, AWrongShapeIsNamed) {
  EXPECT_EQ(
      spec_refusal(llama_source(kTiny).add("blk.0.attn_k.weight", {64, 33}), ErrorCode::kFile),
      "'test.gguf': tensor blk.0.attn_k.weight is 64 x 33, but the file's metadata requires 64 x "
      "32: the file is damaged or its metadata was edited");
  for (std::vector<uint64_t> dims : {std::vector<uint64_t>{32, 64}, {64}, {64, 32, 1}, {2048}}) {
    EXPECT_NE(spec_refusal(llama_source(kTiny).add("blk.0.attn_k.weight", dims), ErrorCode::kFile)
                  .find("requires 64 x 32"),
              std::string::npos);
  }
  EXPECT_NE(spec_refusal(llama_source(kTiny).add("blk.0.ffn_norm.weight", {32}), ErrorCode::kFile)
                .find("blk.0.ffn_norm.weight is 32,"),
            std::string::npos);
  EXPECT_NE(spec_refusal(llama_source(kTiny).add("token_embd.weight", {6400}), ErrorCode::kFile)
                .find("': tensor token_embd.weight is not a matrix with a row for each token: the "
                      "file is damaged, download it again"),
            std::string::npos);
}

TEST(ModelSpec, ATensorThatNothingUsesIsRefused) {
  for (const char* name :
       {"blk.0.attn_sinks.weight", "blk.0.attn_q_norm.weight", "blk.1.ffn_up.weight"}) {
    EXPECT_EQ(
        spec_refusal(llama_source(kTiny).add(name, {64}), ErrorCode::kUnsupported),
        fmt::format("'test.gguf' has a tensor {}, which this version ignores for its architecture, "
                    "so the text would be wrong: use another conversion of the model",
                    name));
  }
  // Tables of frequencies that older converters wrote are ignored, since the metadata gives the
  // same. Scales of activations change no result here.
  TestSource old = llama_source(kTiny);
  old.add("blk.0.attn_rot_embd.weight", {8}).add("blk.0.ffn_up.input_scale", {1});
  EXPECT_EQ(TestModel(std::move(old)).spec().weights.size(), 11u);
}

TEST(ModelSpec, RowsThatNoReduceHoldsAreRefused) {
  EXPECT_NE(spec_refusal(llama_source({.width = kMaxReduceWidth + 32}), ErrorCode::kFile)
                .find("llama.embedding_length = 131104, but the value must be 1 to 131072"),
            std::string::npos);
  LlamaShape widest{.width = kMaxReduceWidth};
  EXPECT_EQ(TestModel(widest).spec().hyper.width, kMaxReduceWidth);
}

// Layers with equal heads share an axis; one with another number of heads has its own, so that keys
// and values lie with the query heads that read them.
TEST(ModelSpec, LayersWithOtherHeadsHaveAxesOfTheirOwn) {
  TestSource source = llama_source({.layers = 3, .heads = 4, .kv_heads = 2});
  source.set("llama.attention.head_count", std::vector<uint32_t>{4, 8, 4});
  source.add("blk.1.attn_q.weight", {64, 128}).add("blk.1.attn_output.weight", {128, 64});
  const TestModel model(std::move(source));
  const ModelSpec& spec = model.spec();
  EXPECT_EQ(spec.head_axis(0), spec.head_axis(2));
  EXPECT_NE(spec.head_axis(0), spec.head_axis(1));
  EXPECT_NE(spec.kept(0)->axis, spec.kept(1)->axis);
  for (uint32_t layer : {0, 1}) {
    EXPECT_EQ(spec.axes[*spec.head_axis(layer)].kv_axis, spec.kept(layer)->axis);
  }
}

TEST(ModelSpec, LayersHaveOneMask) {
  TestSource source = llama_source({.layers = 2});
  source.set("llama.attention.causal", std::vector<bool>{true, false});
  EXPECT_NE(spec_refusal(source, ErrorCode::kFile).find("attention.causal"), std::string::npos);
}

TEST(ModelSpec, ExpertsOfAnArchitectureWithoutSomeAreNamed) {
  TestSource source = made_source({.architecture = "qwen2"});
  source.set("qwen2.expert_count", uint32_t{8}).remove("blk.0.ffn_up.weight");
  EXPECT_NE(spec_refusal(source, ErrorCode::kUnsupported).find("is a mixture of 8 experts"),
            std::string::npos);
}

// A thread holds a position's results of a granule of KV heads in one tile. A granule has as many
// KV heads, with all of their query heads, as make whole blocks of 32.
TEST(ModelSpec, ResultsThatNoTileHoldsAreRefused) {
  LlamaShape one{.heads = 1024, .kv_heads = 1, .key_length = 128, .value_length = 128};
  EXPECT_EQ(spec_refusal(llama_source(one), ErrorCode::kUnsupported),
            "'test.gguf' has 1024 query heads for 1 KV heads of 128 elements: the queries that "
            "share a KV head have more than 65536 elements, which this version does not support");
  LlamaShape odd{.heads = 160, .kv_heads = 32, .key_length = 511, .value_length = 511};
  EXPECT_NE(spec_refusal(llama_source(odd), ErrorCode::kUnsupported).find("of 511 elements"),
            std::string::npos);
  // The largest sizes that fit are accepted.
  one.heads = 512;
  odd.key_length = odd.value_length = 510;
  for (const LlamaShape& fits : {one, odd}) {
    EXPECT_EQ(TestModel(fits).spec().layers.size(), 1u);
  }
}

// Three experts, whose gate of 64 rows and up of 64 rows stand above each other in one tensor.
const Architecture kExperts{"experts", [](SpecBuilder& m) {
                              make_token_table(m);
                              m.append({{m.joined(make_experts(m, 0, {}), NormKind::kRms, {})}});
                            }};

TestSource experts_source() {
  TestSource source;
  source.set("general.architecture", "experts").add("token_embd.weight", {64, 4});
  for (const char* key : {"block_count", "attention.head_count"}) {
    source.set(std::string("experts.") + key, uint32_t{1});
  }
  source.set("experts.embedding_length", uint32_t{64});
  source.set("experts.feed_forward_length", uint32_t{64});
  source.set("experts.context_length", uint32_t{8});
  source.set("experts.expert_count", uint32_t{3});
  source.set("experts.expert_used_count", uint32_t{1});
  source.add("blk.0.ffn_gate_inp.weight", {64, 3});
  source.add("blk.0.ffn_gate_up_exps.weight", {64, 128, 3});
  source.add("blk.0.ffn_down_exps.weight", {64, 64, 3});
  return source;
}

TEST(ModelSpec, ExpertsAreMatricesOfTheirOwn) {
  TestSource source = experts_source();
  ModelSource experts = source.source();
  ModelSpec spec = make_spec(experts, kExperts);
  std::vector<uint32_t> starts;
  for (const WeightSpec& weight : spec.weights) {
    if (weight.expert >= 0) starts.push_back(weight.first);
  }
  EXPECT_EQ(starts, (std::vector<uint32_t>{0, 64, 0, 128, 192, 64, 256, 320, 128}));
  const ExpertsBlock& block = *spec.first<ExpertsBlock>();
  ASSERT_EQ(block.experts.size(), 3u);
  const std::vector<uint32_t> shares = {1, 1};
  std::vector<CutAxis> axes = cut_axes(spec, shares);
  WeightTable cut(spec, axes), dealt(spec, axes, deal_experts(spec, shares, ExpertCut::kSpread));
  for (uint32_t e = 0; e < 3; ++e) {
    const std::vector<Shard>& halves = cut.matrix(block.experts[e].up).shards;
    EXPECT_EQ(halves[0].spec.rows, 32u);
    EXPECT_EQ(halves[1].row0, 32u);
    const std::vector<Shard>& whole = dealt.matrix(block.experts[e].up).shards;
    EXPECT_EQ(whole[e % 2].spec.rows, 64u);
    EXPECT_EQ(whole[1 - e % 2].spec.rows, 0u);
    EXPECT_EQ(dealt.matrix(block.experts[e].gate).align, kExpertAlign);
  }
  // A tensor with another number of rows an expert belongs to another model.
  EXPECT_NE(spec_refusal(std::move(source.add("blk.0.ffn_gate_up_exps.weight", {64, 24, 4})),
                         ErrorCode::kFile, &kExperts)
                .find("64 x 24 x 4, but the file's metadata requires 64 x 128 x 3:"),
            std::string::npos);
}

TEST(ExpertDealing, FollowsTheSharesInTurn) {
  ModelSpec spec;
  spec.layers.push_back({{{ExpertsBlock{.rule = {.experts = 8}}, {}}}});
  auto dealt = [&](const std::vector<uint32_t>& shares) {
    return deal_experts(spec, shares, ExpertCut::kSpread);
  };
  EXPECT_EQ(dealt({1, 1, 1}), (ExpertDealing{0, 1, 2, 0, 1, 2, 0, 1}));
  EXPECT_EQ(dealt({3, 1}), (ExpertDealing{0, 0, 0, 1, 0, 0, 0, 1}));
  EXPECT_EQ(dealt({1, 0, 1}), (ExpertDealing{0, 2, 0, 2, 0, 2, 0, 2}));
  EXPECT_TRUE(deal_experts(spec, std::vector<uint32_t>{1, 1}, ExpertCut::kCut).empty());
}

// A tensor with a third dimension, even of 1, is refused if it is not a tensor of experts.
TEST(ModelSpec, AThirdDimensionIsRefusedWhereThereAreNoExperts) {
  std::vector<std::pair<std::string, std::vector<uint64_t>>> tensors = {
      {"blk.0.ffn_down.weight", {96, 64, 1}},
      {"blk.0.ffn_up.weight", {64, 1, 96}},
      {"blk.0.ffn_norm.weight", {64, 1, 1}},
      {"blk.0.attn_q.weight", {64, 16, 4}}};
  for (const auto& [name, dims] : tensors) {
    EXPECT_NE(spec_refusal(llama_source(kTiny).add(name, dims), ErrorCode::kFile).find("requires"),
              std::string::npos)
        << name;
  }
}

TEST(ModelSpec, RefusesAnUnknownArchitecture) {
  EXPECT_NE(
      spec_refusal(llama_source(kTiny).set("general.architecture", "martian"),
                   ErrorCode::kUnsupported)
          .find("has the architecture 'martian', which this version cannot run; it runs llama"),
      std::string::npos);
  EXPECT_NE(
      spec_refusal(llama_source(kTiny).set("general.architecture", "clip"), ErrorCode::kUnsupported)
          .find("' is a projector for images or audio (mmproj), and this version supports only "
                "text; name the file of the model itself"),
      std::string::npos);
}

}  // namespace
}  // namespace hearth
