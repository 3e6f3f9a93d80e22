// Tests of tokens after a prompt that are computed in one step, as forced tokens are. The row that
// the next token is sampled from has the same bits as if they were computed one after another, in
// every family of models.
#include <gtest/gtest.h>

#include "engine/logits.h"
#include "golden_set.h"
#include "models/registry.h"

namespace hearth {
namespace {

constexpr size_t kMax = 16;

std::vector<GoldenModel> all_decoders() {
  std::vector<GoldenModel> all = read_golden_set();
  for (const char* list : {"moe_models", "mla_models", "hybrid_models"}) {
    for (GoldenModel& model : read_golden_set(list)) all.push_back(std::move(model));
  }
  return all;
}

// Loads an engine. In models with latents it expands the first rows of the prompt. Some of the
// steps use the decode plan and some the prefill plan.
std::unique_ptr<Engine> load_for_rows(const GoldenModel& model) {
  EngineOptions options;
  options.threads = 2;
  options.context = 1024;
  options.sequences = 2;
  options.prefill_rows = 64;
  options.decode_rows = 4;
  options.scored_rows = 5;
  options.expand = {.tail = static_cast<uint32_t>(model.tokens.size()) - 4, .step = 1};
  const ModelSource source = open_model_source(model.path);
  return std::make_unique<Engine>(source, make_spec(source), Machine::invented(1, 2),
                                  available_isas(detect_cpu_features()).back(), options);
}

std::vector<float> row_behind(Engine& engine, Sequence& sequence, std::span<const int32_t> tokens) {
  StepRequest request{&sequence, tokens, Want::kLast};
  engine.step({&request, 1});
  return {engine.logits(0).begin(), engine.logits(0).end()};
}

class RowsAtOnce : public testing::TestWithParam<GoldenModel> {};

TEST_P(RowsAtOnce, HaveTheBitsOfOneAfterAnother) {
  const std::span<const int32_t> tokens = GetParam().tokens;
  ASSERT_GT(tokens.size(), kMax + 4);
  const size_t first = tokens.size() - kMax;
  const std::unique_ptr<Engine> engine = load_for_rows(GetParam());
  auto begin = [&] {
    auto sequence = engine->new_sequence(static_cast<uint32_t>(tokens.size()));
    engine->prefill(*sequence, tokens.first(first));
    return sequence;
  };
  auto single = begin();
  std::vector<std::vector<float>> rows;
  for (size_t i = 0; i < kMax; ++i) {
    rows.push_back(row_behind(*engine, *single, tokens.subspan(first + i, 1)));
  }
  for (size_t count : {size_t{3}, size_t{5}, kMax - 1}) {
    auto sequence = begin();
    EXPECT_TRUE(
        same_bits(rows[count - 1], row_behind(*engine, *sequence, tokens.subspan(first, count))));
    EXPECT_TRUE(
        same_bits(rows[count], row_behind(*engine, *sequence, tokens.subspan(first + count, 1))))
        << "over the keys and values of " << count;
  }
}

// The prompt's tokens are scored in parts of whole chunks, with both plans.
TEST_P(RowsAtOnce, ScoreTokensAsOneAfterAnother) {
  const std::span<const int32_t> tokens = GetParam().tokens;
  const std::unique_ptr<Engine> engine = load_for_rows(GetParam());
  const uint32_t vocabulary = engine->spec().hyper.vocabulary;
  std::vector<TokenScore> expected;
  auto single = engine->new_sequence(static_cast<uint32_t>(tokens.size()));
  for (size_t i = 0; i + 1 < tokens.size(); ++i) {
    const std::vector<float> row = row_behind(*engine, *single, tokens.subspan(i, 1));
    const double norm = log_sum_exp(row);
    expected.push_back(
        {row[static_cast<size_t>(tokens[i + 1])] - norm, top_logprobs(row, norm, 3)});
  }
  for (size_t most : {size_t{3}, size_t{64}}) {
    auto sequence = engine->new_sequence(static_cast<uint32_t>(tokens.size()));
    for (size_t done = 0; done + 1 < tokens.size();) {
      const size_t count = std::min(most, tokens.size() - 1 - done);
      const StepRequest request{.sequence = sequence.get(),
                                .tokens = tokens.subspan(done, count),
                                .want = Want::kNothing,
                                .scored = static_cast<uint32_t>(count)};
      engine->step({&request, 1});
      std::vector<ScoredToken> scored;
      for (size_t i = 0; i < count; ++i) scored.push_back({tokens[done + i + 1], 3});
      ASSERT_TRUE(engine->score(scored, vocabulary));
      for (const ScoredToken& one : scored) {
        EXPECT_TRUE(one.finite);
        EXPECT_EQ(one.score.logprob, expected[done].logprob) << done;
        EXPECT_EQ(one.score.top, expected[done++].top);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, RowsAtOnce, testing::ValuesIn(all_decoders()), golden_test_name);

}  // namespace
}  // namespace hearth
