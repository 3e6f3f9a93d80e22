// Tests of vectors of texts by whole models. The bits of a vector follow only from its own text's
// rows, whatever else is computed with it.
#include "embed/embedder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "base/error.h"
#include "formats/gguf.h"
#include "tiny_engine.h"

namespace hearth {
namespace {

using Vectors = std::vector<std::vector<float>>;
using Texts = std::vector<std::vector<int32_t>>;

#ifdef HEARTH_FEW_ROUNDS
constexpr int kRounds = 2;
#else
constexpr int kRounds = 12;
#endif
constexpr uint32_t kContext = 256, kVocabulary = 80, kWidth = 64;

struct RunOptions {
  PoolingType pooling = PoolingType::kMean;
  uint32_t threads = 1, shards = 1, groups = 0;
  uint32_t rows = 256, items = 64;
};

class EmbedderTest : public testing::TestWithParam<bool> {
 protected:
  EmbedderTest() : file_(parse_gguf(model_file(shape()), "tiny")), spec_(make_spec(file_)) {}

  // Returns a shape with heads for four shards.
  static TinyShape shape() { return {.heads = 4, .kv_heads = 4, .ffn = 128}; }
  static std::vector<std::byte> model_file(const TinyShape& of) {
    return GetParam() ? tiny_bert(of) : tiny_llama(of);
  }

  std::unique_ptr<Engine> load(const RunOptions& run) const {
    EngineOptions options;
    options.threads = run.threads;
    options.shards = run.shards;
    options.prefill_groups = options.decode_groups = run.groups;
    options.context = kContext;
    options.prefill_rows = run.rows;
    options.items = run.items;
    Isa isa = available_isas(detect_cpu_features()).back();
    return std::make_unique<Engine>(file_, spec_,
                                    Machine::invented(run.shards, run.threads / run.shards), isa,
                                    embed_engine_options(spec_, run.pooling, options));
  }
  Vectors run(const RunOptions& how, const Texts& texts) const {
    auto engine = load(how);
    return embed(*engine, how.pooling, texts);
  }
  static Vectors embed(Engine& engine, PoolingType pooling, const Texts& texts) {
    std::vector<EmbedText> spans;
    for (const auto& text : texts) spans.push_back({text});
    return Embedder(engine, {pooling}).run(spans);
  }
  // Returns the vectors of texts, each computed by itself.
  static Vectors alone(Engine& engine, PoolingType pooling, const Texts& texts) {
    Vectors vectors;
    for (const auto& text : texts) {
      vectors.push_back(embed(engine, pooling, {text})[0]);
    }
    return vectors;
  }

  ModelSource file_;
  ModelSpec spec_;
};

Texts random_texts(uint32_t seed, size_t count) {
  std::mt19937 random(seed);
  Texts texts;
  for (size_t i = 0; i < count; ++i) {
    // Most texts are short, a few are about a page long, and some as long as the context.
    uint32_t kind = random() % 10;
    size_t length = kind < 6 ? 1 + random() % 20 : kind < 9 ? 60 + random() % 10 : kContext;
    texts.push_back(random_tokens(random, length, kVocabulary));
  }
  return texts;
}

// Pools the engine's hidden states by hand and compares the vectors.
TEST_P(EmbedderTest, PoolsTheRowsOfTheText) {
  Texts texts = random_texts(1, 4);
  for (PoolingType pooling : {PoolingType::kCls, PoolingType::kMean, PoolingType::kLast}) {
    auto engine = load({.pooling = pooling});
    Vectors got = embed(*engine, pooling, texts);
    auto whole = load({.pooling = PoolingType::kMean});
    for (size_t i = 0; i < texts.size(); ++i) {
      auto sequence = whole->new_sequence();
      StepRequest request{sequence.get(), texts[i], Want::kHidden};
      whole->step({&request, 1});
      Pooler pooler(pooling, kWidth);
      size_t rows = texts[i].size();
      size_t first = pooling == PoolingType::kLast ? rows - 1 : 0;
      size_t end = pooling == PoolingType::kCls ? 1 : rows;
      for (size_t r = first; r < end; ++r) pooler.add(whole->hidden(r));
      std::vector<float> expected = pooler.take();
      normalise(expected);
      EXPECT_EQ(got[i], expected) << pooling_name(pooling) << " " << i;
    }
  }
}

TEST_P(EmbedderTest, BitsAreTheSameInEveryBatchAndOrder) {
  for (PoolingType pooling : {PoolingType::kCls, PoolingType::kMean, PoolingType::kLast}) {
    Texts texts = random_texts(2, 24);
    Vectors expected = alone(*load({.pooling = pooling}), pooling, texts);
    std::mt19937 random(3);
    for (int round = 0; round < kRounds; ++round) {
      RunOptions how{.pooling = pooling};
      how.threads = 1 + random() % 3;
      how.groups = 1 + random() % how.threads;
      how.rows = kContext + random() % 300;
      if (!GetParam()) how.rows = 17 + random() % 400;
      how.items = 1 + random() % 9;
      auto engine = load(how);
      std::vector<size_t> order(texts.size());
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), random);
      for (size_t at = 0; at < order.size();) {
        size_t count = std::min<size_t>(1 + random() % 12, order.size() - at);
        Texts batch;
        for (size_t i = 0; i < count; ++i) batch.push_back(texts[order[at + i]]);
        Vectors got = embed(*engine, pooling, batch);
        for (size_t i = 0; i < count; ++i) EXPECT_EQ(got[i], expected[order[at + i]]);
        at += count;
      }
      EXPECT_EQ(engine->pool().available(), engine->pool().page_count());
    }
  }
}

TEST_P(EmbedderTest, BitsAreTheSameForEveryGroupingOfFourNodes) {
  Texts texts = random_texts(4, 12);
  Vectors four = run({.threads = 4, .shards = 4}, texts);
  Vectors one = run({}, texts);
  for (size_t i = 0; i < texts.size(); ++i) {
    for (size_t k = 0; k < kWidth; ++k) EXPECT_NEAR(four[i][k], one[i][k], 1e-5);
  }
  for (uint32_t groups : {1u, 2u, 4u, 8u}) {
    Vectors got = run({.threads = 8, .shards = 4, .groups = groups, .rows = 300}, texts);
    EXPECT_EQ(got, four) << groups;
  }
}

TEST_P(EmbedderTest, RefusesBeforeItComputes) {
  auto engine = load({});
  EXPECT_THROW(embed(*engine, PoolingType::kMean, {{1}, {}}), Error);
  EXPECT_THROW(embed(*engine, PoolingType::kMean, {{1}, {-1}}), Error);
  EXPECT_THROW(embed(*engine, PoolingType::kMean, {{1, kVocabulary}}), Error);
  try {
    embed(*engine, PoolingType::kMean, {std::vector<int32_t>(kContext + 1, 1)});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kRequest);
    EXPECT_STREQ(error.what(), "the text has 257 tokens, more than the context of 256");
  }
  EXPECT_TRUE(embed(*engine, PoolingType::kMean, {}).empty());
}

TEST_P(EmbedderTest, RefusesWhatIsNotFinite) {
  TinyShape damaged = shape();
  damaged.scale = 3e38f;
  ModelSource file = parse_gguf(model_file(damaged), "damaged.gguf");
  ModelSpec spec = make_spec(file);
  EngineOptions options;
  options.context = 64;
  Engine engine(file, spec, Machine::invented(1, 1), available_isas(detect_cpu_features()).back(),
                embed_engine_options(spec, PoolingType::kMean, options));
  try {
    embed(engine, PoolingType::kMean, {{1, 2, 3}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kFile);
    EXPECT_NE(std::string(error.what()).find("not all numbers"), std::string::npos);
  }
  EXPECT_EQ(engine.pool().available(), engine.pool().page_count());
}

// The KV pool is small. So a step has only as many tokens as there are pages for.
TEST_P(EmbedderTest, MakesDoWithFewPages) {
  if (GetParam()) GTEST_SKIP() << "an encoder keeps no pages";
  Texts texts = random_texts(5, 20);
  Vectors expected = run({}, texts);
  EngineOptions options;
  options.context = kContext;
  options = embed_engine_options(spec_, PoolingType::kMean, options);
  options.kv_pages = kContext / kPagePositions;
  Engine engine(file_, spec_, Machine::invented(1, 1), available_isas(detect_cpu_features()).back(),
                options);
  EXPECT_EQ(embed(engine, PoolingType::kMean, texts), expected);
}

INSTANTIATE_TEST_SUITE_P(Models, EmbedderTest, testing::Bool(),
                         [](const auto& model) { return model.param ? "encoder" : "decoder"; });

}  // namespace
}  // namespace hearth
