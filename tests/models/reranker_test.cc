// Tests of scores of pairs against the float64 reference, and of the numerical contract: the same
// bits alone and in any step, for every number of threads and groups.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "embed/embedder.h"
#include "golden_set.h"
#include "models/registry.h"

namespace hearth {
namespace {

struct RunOptions {
  Isa isa = available_isas(detect_cpu_features()).back();
  uint32_t threads = 1, shards = 1;
  uint32_t rows = 256;  // in a step
  bool backwards = false;
  bool one_type = false;  // a pair counts as a single text
};

class Reranker : public testing::TestWithParam<GoldenModel> {};

std::vector<float> run_model(const GoldenModel& model, const RunOptions& run) {
  ModelSource source = open_model_source(model.path);
  const ModelSpec spec = make_spec(source);
  EXPECT_TRUE(spec.is_reranker());
  EmbedOptions embed{.pooling = spec.is_encoder() ? PoolingType::kCls : PoolingType::kLast,
                     .scoring = Scoring{}};
  if (!model.words.empty()) embed.scoring->words = YesNo{model.words[0], model.words[1]};
  EngineOptions options;
  options.threads = run.threads;
  options.shards = run.shards;
  options.context = 219;
  options.prefill_rows = run.rows;
  options.items = 16;
  options.kv_type = KvType::kF32;
  Engine engine(source, spec, Machine::invented(run.shards, run.threads / run.shards), run.isa,
                embed_engine_options(spec, embed.pooling, options));
  Embedder embedder(engine, embed);
  EXPECT_EQ(embedder.width(), 1u);
  std::vector<EmbedText> pairs;
  std::span<const int32_t> left = model.tokens;
  for (size_t i = 0; i < model.texts.size(); ++i) {
    pairs.push_back({left.first(model.texts[i]), run.one_type ? 0 : model.seconds[i]});
    left = left.subspan(model.texts[i]);
  }
  if (run.backwards) std::ranges::reverse(pairs);
  std::vector<float> scores;
  for (const std::vector<float>& vector : embedder.run(pairs)) {
    EXPECT_EQ(vector.size(), 1u);
    scores.push_back(vector[0]);
  }
  if (run.backwards) std::ranges::reverse(scores);
  return scores;
}

TEST_P(Reranker, EveryIsaMeetsTheReference) {
  const GoldenModel& model = GetParam();
  for (Isa isa : available_isas(detect_cpu_features())) {
    Difference d = difference(run_model(model, {.isa = isa, .threads = 2}), model.scores);
    EXPECT_LT(d.rms, model.reference_bound().rms) << isa_name(isa);
    EXPECT_LT(d.max, model.reference_bound().max) << isa_name(isa);
  }
}

TEST_P(Reranker, BitsDependOnNothingButTheCut) {
  const GoldenModel& model = GetParam();
  const std::vector<float> scores = run_model(model, {});
  EXPECT_TRUE(same_bits(scores, run_model(model, {.threads = 3, .rows = 1024})));
  EXPECT_TRUE(same_bits(scores, run_model(model, {.threads = 2, .backwards = true})));
  const std::vector<float> cut = run_model(model, {.threads = 2, .shards = 2});
  EXPECT_LT(difference(scores, cut).rms, model.shard_bound());
}

TEST_P(Reranker, TheSecondTextIsOfItsOwnType) {
  const GoldenModel& model = GetParam();
  ModelSource source = open_model_source(model.path);
  const bool types = bool{make_spec(source).embedding.second_type};
  const std::vector<float> scores = run_model(model, {}),
                           one = run_model(model, {.one_type = true});
  EXPECT_EQ(same_bits(scores, one), !types);
}

INSTANTIATE_TEST_SUITE_P(Models, Reranker, testing::ValuesIn(read_golden_set("rerankers")),
                         golden_test_name);

}  // namespace
}  // namespace hearth
