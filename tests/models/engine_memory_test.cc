// Tests of the engine's account of its memory: every byte is in one region, on the node of its
// shard.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "engine/engine.h"
#include "formats/gguf.h"
#include "tiny_model.h"

namespace hearth {
namespace {

void expect_regions(const std::vector<std::byte>& tiny) {
  ModelSource file = parse_gguf(tiny, "tiny");
  EngineOptions options;
  options.sequences = 5;
  options.kept_states = 2;
  options.context = 200;
  options.threads = 6;
  options.shards = 3;
  Isa isa = available_isas(detect_cpu_features()).back();
  Engine engine(file, make_spec(file), Machine::invented(3, 2), isa, options);
  std::map<MemoryKind, size_t> bytes;
  std::vector<std::pair<const std::byte*, const std::byte*>> ranges;
  for (const MemoryRegion& region : engine.regions()) {
    EXPECT_LT(region.shard, 3u);
    EXPECT_EQ(region.node, region.shard) << memory_kind_name(region.kind);
    bytes[region.kind] += region.bytes;
    if (region.bytes > 0) ranges.emplace_back(region.address, region.address + region.bytes);
  }
  const MemoryUse& memory = engine.memory();
  EXPECT_EQ(bytes[MemoryKind::kWeights], memory.weights);
  EXPECT_EQ(bytes[MemoryKind::kKv], memory.kv);
  EXPECT_EQ(bytes[MemoryKind::kStates], memory.states);
  EXPECT_EQ(bytes[MemoryKind::kActivations], memory.activations);
  EXPECT_EQ(bytes[MemoryKind::kScratch], memory.scratch);
  EXPECT_EQ(bytes[MemoryKind::kLogits], memory.logits);
  std::sort(ranges.begin(), ranges.end());
  for (size_t i = 1; i < ranges.size(); ++i) EXPECT_LE(ranges[i - 1].second, ranges[i].first);
  // A layer with two key heads of 16 keeps three inputs of a convolution, and two states each.
  const size_t head = (3 * (2 + 2) * 16 + 2 * 16 * 16) * sizeof(float);
  EXPECT_EQ(memory.states, engine.spec().has_states() ? (5 + 2) * 2 * head : 0);
}

TEST(EngineMemory, RegionsHoldWhatMemoryCounts) {
  expect_regions(tiny_llama(TinyShape{}));
  expect_regions(tiny_qwen35(TinyShape{}));
}

}  // namespace
}  // namespace hearth
