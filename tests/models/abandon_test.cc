// Tests of steps that are abandoned at some layer. The sequence stays as it was, and the next step
// gives the same bits as if the abandoned one had never run. That holds for one group and two, and
// for any number of threads.
#include <gtest/gtest.h>

#include "formats/gguf.h"
#include "tiny_engine.h"

namespace hearth {
namespace {

#if defined(HEARTH_FEW_ROUNDS)
constexpr uint32_t kRounds = 1, kTokens = 80;
#else
constexpr uint32_t kRounds = 12, kTokens = 300;
#endif

struct Shape {
  uint32_t shards, groups, threads;
};

class Abandon : public testing::TestWithParam<Shape> {
 protected:
  static constexpr uint32_t kLayers = 5, kVocabulary = 80;

  static TinyShape model() {
    TinyShape shape = kTiniest;
    shape.layers = kLayers;
    return shape;
  }
  std::unique_ptr<Engine> make() const {
    EngineOptions options;
    options.threads = GetParam().threads;
    options.shards = GetParam().shards;
    options.prefill_groups = options.decode_groups = GetParam().groups;
    options.context = 300;
    options.sequences = 3;
    options.prefill_rows = 100;
    options.decode_rows = 4;
    return tiny_engine(file_, options);
  }
  static std::vector<float> logits(const Engine& engine) {
    std::span<const float> row = engine.logits(0);
    return {row.begin(), row.end()};
  }
  // Runs a step that is abandoned when its hook is asked for the k-th time, counted from 0. Returns
  // whether it was abandoned.
  static bool abandoned_at(Engine& engine, std::span<const StepRequest> requests, uint32_t k) {
    uint32_t asked = 0;
    Engine::Abandon abandon = [&] { return asked++ == k; };
    bool complete = engine.step(requests, &abandon);
    EXPECT_LE(asked, k + 1) << "asked on after it said yes";
    return !complete;
  }

  ModelSource file_ = parse_gguf(tiny_llama(model()), "tiny");
};

TEST_P(Abandon, TheNextStepIsAsIfItHadNeverBeen) {
  auto engine = make();
  std::mt19937 random(3);
  std::vector<int32_t> prompt = random_tokens(random, kTokens, kVocabulary);
  std::vector<std::vector<float>> expected(prompt.size() + 1);
  {
    auto straight = engine->new_sequence();
    for (size_t i = 0; i < prompt.size(); ++i) {
      engine->prefill(*straight, std::span(prompt).subspan(i, 1));
      expected[i + 1] = logits(*engine);
    }
  }
  uint32_t abandoned = 0, completed = 0;
  for (uint32_t round = 0; round < kRounds; ++round) {
    auto sequence = engine->new_sequence();
    while (sequence->length() < prompt.size()) {
      size_t at = sequence->length(), left = prompt.size() - at;
      // Steps of up to 4 tokens take the decode plan and longer ones the prefill plan. Some begin
      // in one page and end in the next.
      size_t count = std::min<size_t>(left, 1 + random() % (random() % 2 == 0 ? 4 : 100));
      StepRequest step{sequence.get(), std::span(prompt).subspan(at, count), Want::kLast};
      uint32_t free = engine->pool().available();
      if (abandoned_at(*engine, {&step, 1}, random() % (kLayers + 3))) {
        ++abandoned;
        ASSERT_EQ(sequence->length(), at);
        ASSERT_EQ(engine->pool().available(), free);
        continue;
      }
      ++completed;
      ASSERT_EQ(logits(*engine), expected[at + count]) << "position " << at + count;
    }
    ASSERT_EQ(sequence->tokens(), prompt);
  }
  EXPECT_GT(abandoned, kRounds);
  EXPECT_GT(completed, kRounds);
}

TEST_P(Abandon, StepsMayBeAbandonedAtEveryLayerButTheLast) {
  auto engine = make();
  std::mt19937 random(4);
  std::vector<int32_t> prompt = random_tokens(random, 50, kVocabulary);
  for (size_t count : {size_t{2}, prompt.size()}) {
    uint32_t stopped = 0;
    for (uint32_t k = 0; k < 20; ++k) {
      auto sequence = engine->new_sequence();
      StepRequest step{sequence.get(), std::span(prompt).first(count), Want::kLast};
      bool abandoned = abandoned_at(*engine, {&step, 1}, k);
      EXPECT_EQ(sequence->length(), abandoned ? 0 : count);
      if (!abandoned) continue;
      EXPECT_EQ(stopped, k) << "at all layers up to the last that can be";
      ++stopped;
    }
    EXPECT_EQ(stopped, kLayers);
  }
}

// A forked sequence's last page is copied before it is written to. The copy may happen within the
// abandoned step.
TEST_P(Abandon, ForksKeepTheirTokens) {
  auto engine = make();
  std::mt19937 random(5);
  std::vector<int32_t> prompt = random_tokens(random, 90, kVocabulary);
  std::vector<int32_t> more = random_tokens(random, 50, kVocabulary);
  auto alone = engine->new_sequence();
  engine->prefill(*alone, prompt);
  engine->prefill(*alone, more);
  std::vector<float> expected = logits(*engine);
  alone.reset();
  for (uint32_t k = 0; k < kLayers; ++k) {
    auto first = engine->new_sequence();
    engine->prefill(*first, prompt);
    auto second = first->fork();
    StepRequest both[] = {{first.get(), more, Want::kLast}, {second.get(), more, Want::kLast}};
    ASSERT_TRUE(abandoned_at(*engine, both, k));
    for (Sequence* sequence : {first.get(), second.get()}) {
      ASSERT_EQ(sequence->tokens(), prompt);
      engine->prefill(*sequence, more);
      ASSERT_EQ(logits(*engine), expected);
    }
  }
}

std::string shape_name(const testing::TestParamInfo<Shape>& info) {
  return std::to_string(info.param.shards) + "_shards_" + std::to_string(info.param.groups) +
         "_groups_" + std::to_string(info.param.threads) + "_threads";
}

INSTANTIATE_TEST_SUITE_P(Shapes, Abandon,
                         testing::Values(Shape{1, 1, 1}, Shape{1, 1, 2}, Shape{1, 2, 2},
                                         Shape{1, 2, 4}, Shape{2, 1, 2}, Shape{2, 2, 2},
                                         Shape{2, 2, 4}),
                         shape_name);

}  // namespace
}  // namespace hearth
