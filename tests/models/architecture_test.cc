// Two architectures that no file format names. Each is described here through the interfaces that
// every architecture uses, and compared with the float64 reference. One is an encoder, which has no
// KV cache; the other is a decoder whose keys and values differ in length.
#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/engine.h"
#include "golden_set.h"
#include "models/encoder.h"
#include "models/registry.h"

namespace hearth {
namespace {

// An encoder like BERT, but with SwiGLU. A layer norm follows every residual, and a token sees its
// whole text.
void describe_encoder(SpecBuilder& m) {
  make_encoder_start(m, PositionTable::kNone);
  const bool has_rope = m.keys().number_or("rope.dimension_count", 0) > 0;
  for (uint32_t layer = 0; layer < m.hyper().layers; ++layer) {
    m.layer({make_attention(m, layer,
                            {.rope = RopeLayout::kHalf,
                             .positions = has_rope ? Positions::kRope : Positions::kNone,
                             .encoder = true}),
             make_feed_forward(m, layer, Gated::kYes, Activation::kSilu), kNormAfter});
  }
}

void describe_test_decoder(SpecBuilder& m) {
  make_decoder(m, [&](uint32_t layer) {
    m.layer({make_attention(m, layer, {.rope = RopeLayout::kHalf}),
             make_feed_forward(m, layer, Gated::kYes, Activation::kSilu), kNormBefore});
  });
}

constexpr Architecture kEncoder{"test-encoder", describe_encoder};
constexpr Architecture kDecoder{"test-decoder", describe_test_decoder};

struct RunOptions {
  Isa isa = available_isas(detect_cpu_features()).back();
  KvType kv = KvType::kF32;
  uint32_t threads = 1, shards = 1, groups = 0;
  uint32_t at_once = 1;  // an encoder's texts, or a decoder's tokens, in a step
};

std::unique_ptr<Engine> load(const GoldenModel& model, const RunOptions& run) {
  ModelSource source = open_model_source(model.path);
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

// The levels agree to the bit; golden_test.cc says why BF16 weights may be an exception.
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

// The encoder gets texts of 1 to 200 tokens, one or several in a step.
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
      if (model.quantised) break;  // rounded activations hide the effect of the KV type
      double moved = difference(run_model(model, {.kv = kv}), run_model(model, {})).rms;
      EXPECT_NEAR(moved / model.kv_move(kv), 1, GoldenModel::kKvSlack) << kv_type_name(kv);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, OwnArchitecture,
                         testing::ValuesIn(read_golden_set("test_models")));

}  // namespace
}  // namespace hearth
