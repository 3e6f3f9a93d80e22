// Tests of layers that see a window, which give back the pages before it. Every row has the same
// bits as in an engine that keeps all pages, however texts are cut into steps, forked, cut back and
// shared.
#include <gtest/gtest.h>

#include <cstring>

#include "formats/gguf.h"
#include "tiny_engine.h"

namespace hearth {
namespace {

class WindowPages : public testing::Test {
 protected:
  static constexpr uint32_t kVocabulary = 80, kContext = 1024, kWindow = 100;

  static EngineOptions options(bool gives_back) {
    EngineOptions options;
    options.threads = 1;
    options.context = kContext;
    options.sequences = 3;
    options.prefill_rows = options.outputs = 128;
    options.decode_rows = 4;
    options.gives_back = gives_back;
    return options;
  }
  std::unique_ptr<Engine> make(const EngineOptions& options) { return tiny_engine(file_, options); }
  // Returns the logits of all rows of the tokens after the sequence's own, in steps of `chunk`
  // tokens.
  static std::vector<float> go_on(Engine& engine, Sequence& sequence,
                                  std::span<const int32_t> tokens, uint32_t chunk) {
    std::vector<float> rows;
    while (sequence.length() < tokens.size()) {
      const size_t at = sequence.length(), count = std::min<size_t>(chunk, tokens.size() - at);
      StepRequest request{&sequence, tokens.subspan(at, count), Want::kAll, 0, 0, true};
      engine.step({&request, 1});
      for (size_t i = 0; i < count; ++i) {
        const std::span<const float> row = engine.logits(i);
        rows.insert(rows.end(), row.begin(), row.end());
      }
    }
    return rows;
  }
  // Expects that `rows`, from row `at` on, equal the last rows of `all`.
  static void expect_rest(const std::vector<float>& rows, const std::vector<float>& all,
                          uint32_t at) {
    ASSERT_EQ(rows.size(), all.size() - size_t{at} * kVocabulary);
    EXPECT_EQ(std::memcmp(rows.data(), &all[size_t{at} * kVocabulary], rows.size() * sizeof(float)),
              0);
  }

  ModelSource file_ = parse_gguf(tiny_gemma3(TinyShape{.layers = 3}, kWindow), "tiny");
  std::mt19937 random_{4};
  std::vector<int32_t> tokens_ = random_tokens(random_, 900, kVocabulary);
};

TEST_F(WindowPages, RowsAreTheSameWhereNoneAreGivenBack) {
  for (uint32_t shards : {1u, 2u}) {
    EngineOptions all_kept = options(false);
    all_kept.threads = all_kept.shards = shards;
    const auto kept = make(all_kept);
    EXPECT_EQ(kept->windows(), nullptr);
    const auto straight = kept->new_sequence();
    const std::vector<float> expected = go_on(*kept, *straight, tokens_, 128);
    for (const auto& [threads, groups, chunk] :
         {std::tuple{shards, 1u, 128u}, {shards, shards, 1u}, {2 * shards, shards, 37u}}) {
      EngineOptions given = options(true);
      given.threads = threads;
      given.shards = shards;
      given.prefill_groups = given.decode_groups = groups;
      const auto engine = make(given);
      ASSERT_NE(engine->windows(), nullptr);
      EXPECT_EQ(engine->windows()->page_count(), 3 * 3 + 2u);
      EXPECT_LT(engine->memory().kv, kept->memory().kv / 2);
      const auto one = engine->new_sequence(), other = engine->new_sequence();
      go_on(*engine, *other, std::span(tokens_).subspan(100), 64);
      expect_rest(go_on(*engine, *one, tokens_, chunk), expected, 0);
      EXPECT_EQ(one->window_begin(), 12u);
    }
  }
}

TEST_F(WindowPages, ForkedAndCutTextsAreTheSame) {
  const auto kept = make(options(false)), engine = make(options(true));
  const auto straight = kept->new_sequence();
  const std::vector<float> expected = go_on(*kept, *straight, tokens_, 128);
  const auto one = engine->new_sequence();
  go_on(*engine, *one, std::span(tokens_).first(700), 50);
  const auto other = one->fork();
  expect_rest(go_on(*engine, *one, tokens_, 64), expected, 700);
  const std::vector<int32_t> others = random_tokens(random_, 200, kVocabulary);
  std::vector<int32_t> forked(tokens_.begin(), tokens_.begin() + 700);
  forked.insert(forked.end(), others.begin(), others.end());
  const auto whole = kept->new_sequence();
  const std::vector<float> of_fork = go_on(*kept, *whole, forked, 128);
  expect_rest(go_on(*engine, *other, forked, 31), of_fork, 700);
  for (uint32_t length : {899u, 880u, 700u, 333u, 50u}) {
    one->truncate(length);
    ASSERT_LE(one->length(), length);
    if (length >= 880) {
      EXPECT_EQ(one->length(), length) << "its window is there still";
    }
    const uint32_t at = one->length();
    expect_rest(go_on(*engine, *one, tokens_, 77), expected, at);
  }
}

}  // namespace
}  // namespace hearth
