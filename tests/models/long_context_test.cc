// Tests of contexts of several spans. Threads share their attention if there are more threads than
// heads and sequences. The logits are those of one thread, to the bit.
#include <gtest/gtest.h>

#include <random>

#include "formats/gguf.h"
#include "tiny_engine.h"

namespace hearth {
namespace {

constexpr uint32_t kLong = 1100, kShort = 40, kContext = 1150;  // 3 spans

using Logits = std::vector<std::vector<float>>;

// Returns the logits of a long prompt in steps of several sizes, and of tokens after it. Of these,
// some have a step of their own, and others share it with a short sequence and the last tokens of a
// prompt of one span.
Logits logits_of(const ModelSource& file, const EngineOptions& options, size_t max_rows = 400) {
  const uint32_t prompt_length = options.expand.step > 0 ? kLong : 0;
  auto engine = tiny_engine(file, options);
  std::mt19937 random(3);
  std::vector<int32_t> tokens = random_tokens(random, kContext, 80);
  std::span<const int32_t> all = tokens;
  Logits logits;
  auto keep = [&](size_t row) {
    std::span<const float> got = engine->logits(row);
    logits.emplace_back(got.begin(), got.end());
  };
  auto sequence = engine->new_sequence(prompt_length), beside = engine->new_sequence(),
       prompt = engine->new_sequence();
  engine->prefill(*beside, all.first(kShort));
  keep(0);
  for (size_t done = 0; done < kLong;) {
    size_t count = std::min<size_t>(kLong - done, done % 3 == 0 ? max_rows : 61);
    engine->prefill(*sequence, all.subspan(done, count));
    keep(0);
    done += count;
  }
  for (uint32_t i = 0; i < 3; ++i) {
    engine->prefill(*sequence, all.subspan(kLong + i, 1));
    keep(0);
  }
  StepRequest together[] = {{beside.get(), all.subspan(kShort, 1), Want::kLast},
                            {prompt.get(), all.first(7), Want::kLast},
                            {sequence.get(), all.subspan(kLong + 3, 1), Want::kLast}};
  engine->step(together);
  for (size_t row = 0; row < 3; ++row) keep(row);
  return logits;
}

EngineOptions options_for(KvType type, uint32_t shards, uint32_t threads) {
  EngineOptions options;
  options.context = kContext;
  options.sequences = 3;
  options.kv_type = type;
  options.shards = shards;
  options.threads = threads;
  return options;
}

void expect_threads_share(const ModelSource& file, KvType type, uint32_t shards) {
  Logits one = logits_of(file, options_for(type, shards, shards));
  for (uint32_t threads : {2u, 5u}) {
    EXPECT_TRUE(logits_of(file, options_for(type, shards, shards * threads)) == one)
        << threads << " threads a shard";
  }
}

void expect_threads_share(uint32_t head_dim, uint32_t window, KvType type, uint32_t shards) {
  SCOPED_TRACE(window);
  TinyShape shape{.head_dim = head_dim, .window = window};
  expect_threads_share(parse_gguf(tiny_llama(shape), "tiny"), type, shards);
}

// The window ends within a span.
TEST(LongContext, BitsDoNotDependOnThreads) {
  for (uint32_t window : {0u, 700u}) expect_threads_share(32, window, KvType::kF16, 1);
}

TEST(LongContext, BitsDoNotDependOnThreadsWithTwoHeadsAGranule) {
  expect_threads_share(16, 0, KvType::kQ8_0, 1);
}

TEST(LongContext, BitsDoNotDependOnThreadsOnTwoShards) {
  expect_threads_share(32, 700, KvType::kQ8_0, 2);
}

// There are enough heads for two tasks of attention.
TEST(LongContext, BitsOfLatentsDoNotDependOnThreads) {
  ModelSource file = parse_gguf(tiny_deepseek2({.heads = 40}), "tiny");
  expect_threads_share(file, KvType::kF16, 1);
  expect_threads_share(file, KvType::kQ8_0, 2);
}

// Most of the prompt's rows are expanded, in tasks of several tiles and over several spans.
TEST(LongContext, BitsOfExpandedLatentsDoNotDependOnThreads) {
  ModelSource file = parse_gguf(tiny_deepseek2({.heads = 5}), "tiny");
  for (KvType type : {KvType::kF16, KvType::kQ8_0}) {
    EngineOptions options = options_for(type, 1, 1);
    options.expand = {.tail = 20, .step = 16};
    const Logits one = logits_of(file, options);
    options.threads = 3;
    EXPECT_TRUE(logits_of(file, options) == one);
    // The logits of the prompt's last row and of later rows are the same in smaller steps.
    const Logits small = logits_of(file, options, 64);
    ASSERT_GE(small.size(), 7u);
    EXPECT_TRUE(std::equal(small.end() - 7, small.end(), one.end() - 7));
    options.expand.step = 0;
    EXPECT_FALSE(logits_of(file, options) == one);
  }
}

TEST(LongContext, PromptsExpandFromACertainLengthOn) {
  const ExpandRule rule;
  EXPECT_EQ(rule.positions(767), 0u);
  EXPECT_EQ(rule.positions(768), 512u);
  EXPECT_EQ(rule.positions(1279), 512u);
  EXPECT_EQ(rule.positions(1280), 1024u);
}

}  // namespace
}  // namespace hearth
