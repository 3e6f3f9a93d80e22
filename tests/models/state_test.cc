// Tests of sequences whose layers keep states: forked, cut, and more than there are slots for.
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

// Returns the logits of a sequence's tokens from its length on, computed in chunks.
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

std::unique_ptr<Engine> state_engine(const ModelSource& file, uint32_t kept_states) {
  EngineOptions options;
  options.threads = 2;
  options.context = 1024;
  options.prefill_rows = options.outputs = 64;
  options.decode_rows = 4;
  options.sequences = 2;
  options.kept_states = kept_states;
  return std::make_unique<Engine>(file, make_spec(file), Machine::invented(1, 2),
                                  available_isas(detect_cpu_features()).back(), options);
}

// A fork continues from the same state, beside the other sequence in the same steps. A fork that
// finds no free place has no tokens. A sequence that is cut computes its tokens again, and no slot
// is lost.
TEST_P(StateGolden, ForksAndCutSequencesGiveTheSameBits) {
  const GoldenModel& model = GetParam();
  ModelSource file = open_model_source(model.path);
  const uint32_t kept = model.tokens.size() % 2;  // without kept states a slot is missing
  const std::unique_ptr<Engine> made = state_engine(file, kept);
  Engine& engine = *made;
  const std::span<const int32_t> tokens = model.tokens;
  const size_t at = tokens.size() * 2 / 3, vocabulary = engine.spec().hyper.vocabulary;
  auto one = engine.new_sequence();
  const std::vector<float> all = state_logits_from(engine, *one, tokens, 9);
  const std::vector<float> rest(all.begin() + static_cast<ptrdiff_t>(at * vocabulary), all.end());
  one->truncate(static_cast<uint32_t>(tokens.size()));
  EXPECT_EQ(one->length(), tokens.size());
  one->truncate(5);
  EXPECT_EQ(one->length(), 0u);
  EXPECT_EQ(engine.states()->free_places(), 2u);
  state_logits_from(engine, *one, tokens.first(at), 5);
  auto other = one->fork();
  EXPECT_EQ(other->length(), at);
  EXPECT_EQ(one->fork()->length(), 0u) << "no place is left";
  EXPECT_EQ(other->slot(), one->slot());
  StepRequest both[] = {{one.get(), tokens.subspan(at, 1), Want::kAll},
                        {other.get(), tokens.subspan(at, 3), Want::kAll}};
  engine.step(both);
  for (size_t row : {0u, 1u, 2u, 3u}) {
    const float* expected = rest.data() + (row == 0 ? 0 : row - 1) * vocabulary;
    EXPECT_EQ(0, std::memcmp(engine.logits(row).data(), expected, vocabulary * sizeof(float)));
  }
  auto third = engine.new_sequence();
  EXPECT_THROW(state_logits_from(engine, *third, tokens, 9), Error) << "no place is left";
  const std::vector<float> tail = state_logits_from(engine, *other, tokens, 4);
  EXPECT_EQ(0, std::memcmp(tail.data(), rest.data() + 3 * vocabulary, tail.size() * sizeof(float)));
  one.reset();
  EXPECT_TRUE(same_bits(state_logits_from(engine, *third, tokens, 64), all))
      << "in a slot that was used";
  other.reset();
  third.reset();
  EXPECT_EQ(engine.states()->free_places(), 2u);
  EXPECT_EQ(engine.states()->free_count(), 2u + kept);
}

// Other sequences take over a kept state to the bit, whatever they and its own sequence do
// afterwards. Its own sequence can return to it.
TEST_P(StateGolden, KeptStatesGiveTheSameBits) {
  ModelSource file = open_model_source(GetParam().path);
  const std::unique_ptr<Engine> engine = state_engine(file, 4);
  std::vector<int32_t> tokens;
  while (tokens.size() < 200) {
    tokens.insert(tokens.end(), GetParam().tokens.begin(), GetParam().tokens.end());
  }
  tokens.resize(200);
  const std::span<const int32_t> all = tokens;
  const size_t vocabulary = engine->spec().hyper.vocabulary;
  auto one = engine->new_sequence();
  const std::vector<float> expected = state_logits_from(*engine, *one, all, 64);
  auto expect_from = [&](Sequence& sequence, size_t at, size_t chunk) {
    ASSERT_EQ(sequence.length(), at);
    const std::vector<float> rest(expected.begin() + static_cast<ptrdiff_t>(at * vocabulary),
                                  expected.end());
    EXPECT_TRUE(same_bits(state_logits_from(*engine, sequence, all, chunk), rest)) << at;
  };
  one->truncate(0);
  state_logits_from(*engine, *one, all.first(128), 32);
  one->publish();
  one->keep_state(true);
  auto two = engine->new_sequence();
  EXPECT_EQ(two->adopt_prefix(all), 128u);
  expect_from(*two, 128, 7);
  expect_from(*one, 128, 64);
  two->truncate(199);
  expect_from(*two, 128, 3);
  one.reset();
  two->publish();
  auto third = two->fork();
  two.reset();
  third->truncate(150);
  expect_from(*third, 128, 64);
  third.reset();
  EXPECT_EQ(engine->states()->kept_count(), 1u);
  EXPECT_EQ(engine->states()->free_count(), engine->states()->slots() - 1);
}

INSTANTIATE_TEST_SUITE_P(Models, StateGolden, testing::ValuesIn(read_golden_set("hybrid_models")),
                         golden_test_name);

}  // namespace
}  // namespace hearth
