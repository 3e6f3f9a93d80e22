// Two architectures that no file format names, each written here from the interfaces that every
// architecture is written from, and held against the float64 reference: an encoder that keeps
// nothing of a text, and a decoder whose keys and values differ in length.
#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/engine.h"
#include "golden_set.h"
#include "models/decoder.h"
#include "models/registry.h"

namespace hearth {
namespace {

// As BERT, but with SwiGLU: a layer norm after every residual, and a token sees its whole text.
void describe_encoder(SpecBuilder& spec) {
  HyperParameters& hyper = spec.hyper();
  hyper.rope.layout = RopeLayout::kHalf;
  const char* turned = "test-encoder.rope.dimension_count";
  if (!spec.source().metadata().get<uint32_t>(turned)) hyper.rope.n_rot = 0;
  spec.norm() = {NormKind::kLayer, NormPlace::kAfterResidual};
  TransformerAxes axes = add_transformer_axes(spec);
  describe_vocabulary(spec, axes);
  auto norm = [&](WeightRole weight, WeightRole bias, int layer, const std::string& name) {
    spec.vector(weight, layer, name + ".weight", hyper.width);
    spec.vector(bias, layer, name + ".bias", hyper.width);
  };
  norm(WeightRole::kEmbeddingNorm, WeightRole::kEmbeddingNormBias, -1, "token_embd_norm");
  for (uint32_t layer = 0; layer < hyper.layers; ++layer) {
    auto l = static_cast<int>(layer);
    describe_attention(spec, axes, layer);
    norm(WeightRole::kAttentionNorm, WeightRole::kAttentionNormBias, l,
         layer_tensor(layer, "attn_output_norm"));
    describe_swiglu(spec, axes, layer);
    spec.vector_if_there(WeightRole::kDownBias, l, layer_tensor(layer, "ffn_down.bias"),
                         hyper.width);
    norm(WeightRole::kFfnNorm, WeightRole::kFfnNormBias, l,
         layer_tensor(layer, "layer_output_norm"));
    LayerSpec attention = layer_of(hyper);
    attention.mask = Mask::kBidirectional;
    attention.kept = KvKept::kForStep;
    spec.layer(attention);
  }
}

void build_encoder(Layers& layers) {
  Reduced state = layers.embed(-1, WeightRole::kEmbeddingNorm);
  for (uint32_t layer = 0; layer < layers.count(); ++layer) {
    auto l = static_cast<int>(layer);
    RowSet rows = layer + 1 == layers.count() ? RowSet::kOutputs : RowSet::kTokens;
    Partials attended = layers.attention(layer, state.normed);
    state = layers.reduce(state.x, attended, l, WeightRole::kAttentionNorm);
    Partials fed = layers.ffn(layer, state.normed);
    state = layers.reduce(state.x, fed, l, WeightRole::kFfnNorm, rows);
  }
  layers.logits(state.normed);
}

void describe_test_decoder(SpecBuilder& spec) {
  spec.hyper().rope.layout = RopeLayout::kHalf;
  describe_decoder(spec);
}

constexpr Architecture kEncoder{"test-encoder", describe_encoder, build_encoder};
constexpr Architecture kDecoder{"test-decoder", describe_test_decoder, build_decoder};

struct RunOptions {
  Isa isa = available_isas(detect_cpu_features()).back();
  KvType kv = KvType::kF32;
  uint32_t threads = 1, shards = 1, groups = 0;
  uint32_t at_once = 1;  // texts of an encoder, or tokens, in a step
};

std::unique_ptr<Engine> load(const GoldenModel& model, const RunOptions& run) {
  ModelSource source = ModelSource::open(model.path);
  ModelSpec spec = make_spec(source, model.encoder() ? kEncoder : kDecoder);
  EngineOptions options;
  options.threads = run.threads;
  options.shards = run.shards;
  options.kv_type = run.kv;
  options.prefill_groups = options.decode_groups = run.groups;
  options.context = 256;
  options.outputs = options.hidden_rows = 512;
  Machine machine = Machine::invented(run.shards, run.threads / run.shards);
  return std::make_unique<Engine>(source, spec, machine, run.isa, options);
}

std::vector<float> run_model(const GoldenModel& model, const RunOptions& run) {
  return golden_rows(*load(model, run), model, run.at_once);
}

class OwnArchitecture : public testing::TestWithParam<GoldenModel> {};

// The levels agree to the bit; why they need not with BF16 weights says golden_test.cc.
TEST_P(OwnArchitecture, EveryIsaMeetsTheReferenceAndTheOthers) {
  const GoldenModel& model = GetParam();
  std::vector<float> first;
  for (Isa isa : available_isas(detect_cpu_features())) {
    std::vector<float> rows = run_model(model, {.isa = isa, .threads = 2, .at_once = 64});
    if (first.empty()) first = rows;
    Difference d = difference(rows, model.encoder() ? model.hidden : model.logits);
    EXPECT_LT(d.rms, model.reference_bound().rms) << isa_name(isa);
    EXPECT_LT(d.max, model.reference_bound().max) << isa_name(isa);
    EXPECT_TRUE(model.bf16 || same_bits(first, rows)) << isa_name(isa);
  }
}

// The encoder's texts, of 1 to 200 tokens, one by one or several in a step.
TEST_P(OwnArchitecture, BitsDependOnNothingButTheCut) {
  const GoldenModel& model = GetParam();
  std::vector<float> one = run_model(model, {});
  EXPECT_TRUE(same_bits(one, run_model(model, {.threads = 3, .at_once = 7})));
  EXPECT_TRUE(same_bits(one, run_model(model, {.threads = 3, .groups = 3, .at_once = 64})));
  std::vector<float> two = run_model(model, {.threads = 2, .shards = 2, .at_once = 3});
  EXPECT_LT(difference(one, two).rms, model.shard_bound());
  for (uint32_t groups : {1u, 2u, 4u}) {
    RunOptions run{.threads = 4, .shards = 2, .groups = groups, .at_once = 64};
    EXPECT_TRUE(same_bits(two, run_model(model, run))) << groups;
  }
}

TEST_P(OwnArchitecture, KeepsWhatItSays) {
  const GoldenModel& model = GetParam();
  std::unique_ptr<Engine> engine = load(model, {});
  EXPECT_EQ(engine->pool().keeps_pages(), !model.encoder());
  EXPECT_EQ(engine->memory().kv > 0, !model.encoder());
  auto sequence = engine->new_sequence();
  StepRequest next{sequence.get(), std::span(model.tokens).first(9), Want::kHidden};
  engine->step({&next, 1});
  if (model.encoder()) {
    EXPECT_THROW(engine->step({&next, 1}), Error);
  } else {
    EXPECT_TRUE(engine->step({&next, 1}));
    for (KvType kv : {KvType::kF16, KvType::kBF16, KvType::kQ8_0}) {
      if (model.quantised) break;  // rounded activations hide what the cache adds
      double moved = difference(run_model(model, {.kv = kv}), run_model(model, {})).rms;
      EXPECT_NEAR(moved / model.kv_move(kv), 1, GoldenModel::kKvSlack) << kv_type_name(kv);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, OwnArchitecture,
                         testing::ValuesIn(read_golden_set("test_models")));

}  // namespace
}  // namespace hearth
