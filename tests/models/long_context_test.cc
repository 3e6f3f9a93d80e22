// Contexts of several spans, whose attention threads share where there are more of them than heads
// and sequences: the logits are those of one thread, to the bit.
#include <gtest/gtest.h>

#include <random>

#include "tiny_engine.h"

namespace hearth {
namespace {

constexpr uint32_t kLong = 1700, kShort = 40, kContext = 1800;

using Logits = std::vector<std::vector<float>>;

// Of a long prompt in steps of several sizes, of tokens after it, alone and beside a short sequence
// and the last tokens of a prompt of one span.
Logits logits_of(const GgufFile& file, const EngineOptions& options) {
  auto engine = tiny_engine(file, options);
  std::mt19937 random(3);
  std::vector<int32_t> tokens = random_tokens(random, kContext, 80);
  std::span<const int32_t> all = tokens;
  Logits logits;
  auto keep = [&](size_t row) {
    std::span<const float> got = engine->logits(row);
    logits.emplace_back(got.begin(), got.end());
  };
  auto sequence = engine->new_sequence(), beside = engine->new_sequence(),
       prompt = engine->new_sequence();
  engine->prefill(*beside, all.first(kShort));
  keep(0);
  for (size_t done = 0; done < kLong;) {
    size_t count = std::min<size_t>(kLong - done, done % 3 == 0 ? 400 : 61);
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

class LongContext : public testing::TestWithParam<uint32_t> {};

TEST_P(LongContext, ThreadsThatShareItDoNotChangeIt) {
  // Heads of 16: two make a granule. The window ends within spans.
  for (uint32_t head_dim : {16u, 32u}) {
    TinyShape shape{.head_dim = head_dim, .window = GetParam()};
    GgufFile file = GgufFile::parse(tiny_llama(shape), "tiny");
    for (KvType type : {KvType::kF16, KvType::kQ8_0}) {
      for (uint32_t shards : {1u, 2u}) {
        Logits one = logits_of(file, options_for(type, shards, shards));
        for (uint32_t threads : {2u, 3u, 5u}) {
          EXPECT_TRUE(logits_of(file, options_for(type, shards, shards * threads)) == one)
              << shards << " shards, " << threads << " threads each, heads of " << head_dim;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Windows, LongContext, testing::Values(0u, 700u));

}  // namespace
}  // namespace hearth
