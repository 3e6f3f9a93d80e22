// Sequences of models whose layers keep states: forked, cut, and more than there are slots for.
#include <gtest/gtest.h>

#include <cstring>

#include "base/error.h"
#include "engine/engine.h"
#include "golden_set.h"
#include "models/registry.h"
#include "same_bits.h"

namespace hearth {
namespace {

class StateGolden : public testing::TestWithParam<GoldenModel> {};

// The logits of a sequence's tokens from its length on, in chunks.
std::vector<float> state_logits_from(Engine& engine, Sequence& sequence,
                                     std::span<const int32_t> tokens, size_t chunk) {
  std::vector<float> logits;
  while (sequence.length() < tokens.size()) {
    const size_t at = sequence.length(), count = std::min(chunk, tokens.size() - at);
    StepRequest request{&sequence, tokens.subspan(at, count), Want::kAll};
    engine.step({&request, 1});
    for (size_t i = 0; i < count; ++i) {
      std::span<const float> row = engine.logits(i);
      logits.insert(logits.end(), row.begin(), row.end());
    }
  }
  return logits;
}

// A fork goes on from a copy of the state, beside the other in the same steps, or from nothing
// where no slot is left; what is cut is computed again; no slot is lost.
TEST_P(StateGolden, ForksAndCutSequencesGiveTheSameBits) {
  const GoldenModel& model = GetParam();
  ModelSource file = open_model_source(model.path);
  EngineOptions options;
  options.threads = 2;
  options.context = 1024;
  options.prefill_rows = options.outputs = 64;
  options.decode_rows = 4;
  options.sequences = 2;
  Engine engine(file, make_spec(file), Machine::invented(1, 2),
                available_isas(detect_cpu_features()).back(), options);
  const std::span<const int32_t> tokens = model.tokens;
  const size_t at = tokens.size() * 2 / 3, vocabulary = engine.spec().hyper.vocabulary;
  auto one = engine.new_sequence();
  const std::vector<float> all = state_logits_from(engine, *one, tokens, 9);
  const std::vector<float> rest(all.begin() + static_cast<ptrdiff_t>(at * vocabulary), all.end());
  one->truncate(static_cast<uint32_t>(tokens.size()));
  EXPECT_EQ(one->length(), tokens.size());
  one->truncate(5);
  EXPECT_EQ(one->length(), 0u);
  EXPECT_EQ(engine.states()->free_count(), 2u);
  state_logits_from(engine, *one, tokens.first(at), 5);
  auto other = one->fork();
  EXPECT_EQ(other->length(), at);
  EXPECT_EQ(one->fork()->length(), 0u) << "no slot is left";
  EXPECT_EQ(other->adopt_prefix(tokens), 0u);
  StepRequest both[] = {{one.get(), tokens.subspan(at, 1), Want::kAll},
                        {other.get(), tokens.subspan(at, 3), Want::kAll}};
  engine.step(both);
  for (size_t row : {0u, 1u, 2u, 3u}) {
    const float* expected = rest.data() + (row == 0 ? 0 : row - 1) * vocabulary;
    EXPECT_EQ(0, std::memcmp(engine.logits(row).data(), expected, vocabulary * sizeof(float)));
  }
  auto third = engine.new_sequence();
  EXPECT_THROW(state_logits_from(engine, *third, tokens, 9), Error) << "no slot is left";
  const std::vector<float> tail = state_logits_from(engine, *other, tokens, 4);
  EXPECT_EQ(0, std::memcmp(tail.data(), rest.data() + 3 * vocabulary, tail.size() * sizeof(float)));
  one.reset();
  EXPECT_TRUE(same_bits(state_logits_from(engine, *third, tokens, 64), all))
      << "in a slot that was used";
  other.reset();
  third.reset();
  EXPECT_EQ(engine.states()->free_count(), 2u);
}

INSTANTIATE_TEST_SUITE_P(Models, StateGolden, testing::ValuesIn(read_golden_set("hybrid_models")),
                         golden_test_name);

}  // namespace
}  // namespace hearth
