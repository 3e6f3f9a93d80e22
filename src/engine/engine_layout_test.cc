#include "engine/engine_layout.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/bytes_text.h"
#include "base/error.h"
#include "engine/kv_pool.h"
#include "models/test_source.h"

namespace hearth {
namespace {

// Tests the number of KV pages, and with it the context, of a model made for 40960 positions.
class KvSize : public testing::Test {
 protected:
  KvSize() {
    machine_.memory_available = 0;  // unknown
    options_.threads = 1;
    page_bytes_ = lay_out().memory().kv / lay_out().options.kv_pages;
    others_ = lay_out().memory().total() - lay_out().memory().kv;
  }

  EngineLayout lay_out() const {
    return lay_out_engine(spec_, machine_, Isa::kReference, options_);
  }
  void expect(uint32_t pages, uint32_t context) {
    EngineLayout layout = lay_out();
    EXPECT_EQ(layout.options.kv_pages, pages);
    EXPECT_EQ(layout.kv.page_count(), pages);
    EXPECT_EQ(layout.options.context, context);
  }
  // Expects an error of this code and field whose message contains these words.
  void expect_refused(ErrorCode code, const char* field, const std::vector<std::string>& says) {
    try {
      lay_out();
      FAIL() << "it is taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code);
      EXPECT_EQ(error.field(), field);
      for (const std::string& part : says) {
        EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
      }
    }
  }

  TestSource made_ = llama_source({.context = 40960});
  ModelSource source_ = made_.source();
  ModelSpec spec_ = make_spec(source_);
  Machine machine_ = Machine::invented(1, 1);
  EngineOptions options_;
  uint64_t page_bytes_ = 0, others_ = 0;
};

TEST_F(KvSize, IsFourThousandPositionsOfEverySequenceByDefault) {
  expect(64, 4096);
  options_.sequences = 3;
  expect(192, 4096);
  machine_.memory_available = others_ + 100 * page_bytes_ + 7;
  expect(100, 4096);
  options_.context = 300;
  expect(15, 300);
}

TEST_F(KvSize, BytesGiveAsManyPagesAsTheyHold) {
  options_.kv_bytes = 100 * page_bytes_ + page_bytes_ - 1;
  expect(100, 6400);
  options_.kv_bytes = 1000 * page_bytes_;
  expect(1000, 40960);
  options_.context = 300;
  expect(1000, 300);
  options_.kv_pages = 9;
  expect(9, 300);
}

TEST_F(KvSize, RefusesBytesThatHoldNoContext) {
  options_.kv_bytes = 100 * page_bytes_;
  options_.context = 6401;
  expect_refused(ErrorCode::kUsage, "kv_bytes",
                 {bytes_text(100 * page_bytes_), "holds 6400 tokens", "one context of 6401 tokens",
                  bytes_text(101 * page_bytes_), "raise it or lower the context"});
  options_.min_context = 6400;
  expect(100, 6400);
  options_.context = 0;
  options_.min_context = 0;
  options_.kv_bytes = page_bytes_ - 1;
  expect_refused(ErrorCode::kUsage, "kv_bytes", {"holds 0 tokens"});
}

TEST_F(KvSize, RefusesBytesBeyondTheMemory) {
  options_.kv_bytes = 100 * page_bytes_;
  machine_.memory_available = others_ + 100 * page_bytes_;
  expect(100, 6400);
  machine_.memory_available -= 1;
  expect_refused(ErrorCode::kResource, "kv_bytes",
                 {bytes_text(100 * page_bytes_), bytes_text(99 * page_bytes_), "lower it"});
}

TEST_F(KvSize, AShareCountsTheMemoryLeftByEverythingElse) {
  options_.kv_share = kServingKvShare;
  machine_.memory_available = others_ + 4 * 100 * page_bytes_ + 3;
  expect(100, 6400);
  options_.sequences = 2;
  machine_.memory_available = others_ + 4 * 1000 * page_bytes_;
  expect(1000, 40960);
  options_.kv_bytes = 5 * page_bytes_;
  expect(5, 320);
}

TEST_F(KvSize, AShareIsCappedByWhatItsSequencesFill) {
  options_.kv_share = kServingKvShare;
  machine_.memory_available = others_ + 4 * 5000 * page_bytes_;
  expect(640, 40960);
  options_.sequences = 3;
  expect(3 * 640, 40960);
  options_.context = 300;
  expect(3 * 5, 300);
}

TEST_F(KvSize, AShareGrowsForARequestedContext) {
  options_.kv_share = kServingKvShare;
  options_.context = 8192;
  machine_.memory_available = others_ + 4 * 100 * page_bytes_;
  expect(128, 8192);
  machine_.memory_available = others_ + 127 * page_bytes_;
  expect_refused(ErrorCode::kResource, "", {"are available"});
}

TEST_F(KvSize, AShareOfUnknownMemoryIsTheDefault) {
  options_.kv_share = kServingKvShare;
  options_.sequences = 2;
  expect(128, 8192);
  options_.context = 300;
  expect(10, 300);
}

TEST_F(KvSize, TheSmallestNodeDecides) {
  machine_ = Machine::invented(2, 1);
  machine_.source = MachineSource::kLive;
  machine_.memory_available = 0;
  options_.threads = 2;
  EngineLayout usual = lay_out();
  ASSERT_EQ(usual.shard_count(), 2u);
  for (uint32_t s = 0; s < 2; ++s) {
    uint64_t others = usual.shard_bytes(s) - usual.kv.shard_bytes(s);
    machine_.nodes[s].available_bytes = others + (s == 0 ? 900 : 400) * usual.kv.page_bytes(s);
  }
  options_.kv_share = kServingKvShare;
  expect(100, 6400);
}

TEST_F(KvSize, RefusesSharesOutsideOfZeroToOne) {
  for (double share : {-0.1, 1.1, std::numeric_limits<double>::quiet_NaN()}) {
    options_.kv_share = share;
    expect_refused(ErrorCode::kUsage, "kv_share", {"between 0 and 1"});
  }
  options_.kv_share = 0;
  options_.kv_pages = 63;
  options_.context = 4096;
  expect_refused(ErrorCode::kUsage, "kv_pages", {"is 63", "4096 tokens takes 64 pages"});
}

// Tests the number of kept states, besides those of three sequences, in a model whose layers keep
// states.
TEST(EngineLayout, KeptStatesAreANumberOrBytesOrAShareOfWhatIsLeft) {
  TestModel model(made_source({.architecture = "qwen35",
                               .layers = 4,
                               .width = 64,
                               .heads = 4,
                               .kv_heads = 2,
                               .key_length = 16,
                               .value_length = 16,
                               .ffn = 96,
                               .vocabulary = 100,
                               .delta = {.keys = 2, .values = 4, .length = 16}}));
  Machine machine = Machine::invented(1, 1);
  machine.memory_available = 0;  // unknown
  EngineOptions options;
  options.threads = 1;
  options.sequences = 3;
  options.context = options.min_context = 64;
  auto lay_out = [&] { return lay_out_engine(model.spec(), machine, Isa::kReference, options); };
  const EngineLayout none = lay_out();
  const size_t slot = none.states.slot_bytes();
  ASSERT_GT(slot, 0u);
  auto expect_kept = [&](uint32_t kept) {
    const EngineLayout layout = lay_out();
    EXPECT_EQ(layout.options.kept_states, kept);
    EXPECT_EQ(layout.states.slots(), 3 + kept);
    EXPECT_EQ(layout.memory().states, (3 + kept) * slot);
  };
  expect_kept(0);
  options.state_share = kServingStateShare;
  expect_kept(3 * kMaxSharedStates);
  const size_t others = none.memory().total() - none.memory().kv;
  machine.memory_available = others + 8 * 1000 * slot + 1;
  expect_kept(3 * kMaxSharedStates);
  machine.memory_available = others + 8 * 5 * slot + 1;
  expect_kept(5);
  options.state_bytes = 7 * slot + 1;
  expect_kept(7);
  options.kept_states = 2;
  expect_kept(2);
  options.kept_states = 0;
  for (const auto& [bytes, says] :
       {std::pair{slot - 1, "raise it, or give 0 to save no states"},
        std::pair{1000 * slot,
                  "that are free besides weights and activations: lower it, or free memory"}}) {
    options.state_bytes = bytes;
    try {
      lay_out();
      FAIL() << "it is taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.field(), "state_bytes");
      EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
    }
  }
}

// The layers of Gemma 4 26B-A4B: every sixth layer sees all positions, the others 1024. The tests
// count the memory of the KV cache, in which experts have no part, so this model has only a few
// small experts.
TestSource gemma4_26b() {
  constexpr uint32_t kLayers = 30, kWidth = 2816, kHeads = 16;
  TestSource made = made_source({.architecture = "gemma4",
                                 .layers = kLayers,
                                 .width = kWidth,
                                 .heads = kHeads,
                                 .kv_heads = 8,
                                 .key_length = 512,
                                 .value_length = 512,
                                 .ffn = 2112,
                                 .context = 262144,
                                 .window = 1024,
                                 .experts = {.count = 4, .chosen = 2, .ffn = 64}});
  std::vector<bool> windowed;
  std::vector<int32_t> kv_heads;
  for (uint32_t layer = 0; layer < kLayers; ++layer) {
    const bool full = layer % 6 == 5;
    const uint32_t length = full ? 512 : 256, keys = (full ? 2 : 8) * length;
    windowed.push_back(!full);
    kv_heads.push_back(full ? 2 : 8);
    const std::string blk = "blk." + std::to_string(layer) + ".";
    made.add(blk + "attn_q.weight", {kWidth, kHeads * length});
    made.add(blk + "attn_k.weight", {kWidth, keys}).add(blk + "attn_v.weight", {kWidth, keys});
    made.add(blk + "attn_output.weight", {kHeads * length, kWidth});
    made.add(blk + "attn_q_norm.weight", {length}).add(blk + "attn_k_norm.weight", {length});
    if (full) made.remove(blk + "attn_v.weight");
  }
  made.set("gemma4.attention.sliding_window_pattern", windowed);
  made.set("gemma4.attention.head_count_kv", kv_heads);
  made.set("gemma4.attention.key_length_swa", uint32_t{256});
  made.set("gemma4.attention.value_length_swa", uint32_t{256});
  made.set("gemma4.rope.dimension_count_swa", uint32_t{256});
  return made;
}

// The model is cut over two shards, half on each.
TEST(EngineLayout, LayersWithAWindowTakeTheirWindowsAndWhatAStepComputes) {
  constexpr uint64_t kContext = 32768, kWindow = 1024;
  constexpr uint64_t kFull = 5 * 2 * (512 + 512) * 2, kWindowed = 25 * 8 * (256 + 256) * 2;
  const TestModel model(gemma4_26b());
  Machine machine = Machine::invented(2, 1);
  machine.memory_available = 0;  // unknown
  EngineOptions options;
  options.threads = options.shards = 2;
  options.context = kContext;
  auto kv = [&](uint32_t sequences, uint32_t rows) {
    options.sequences = sequences;
    options.prefill_rows = rows;
    const EngineLayout layout = lay_out_engine(model.spec(), machine, Isa::kReference, options);
    EXPECT_EQ(layout.options.kv_pages, sequences * kContext / kPagePositions);
    EXPECT_EQ(layout.kv.shard_bytes(0), layout.kv.shard_bytes(1));
    EXPECT_EQ(layout.memory().kv, 2 * layout.kv.shard_bytes(0));
    return static_cast<double>(layout.memory().kv);
  };
  auto windows = [&](uint64_t sequences, uint64_t rows) {
    return static_cast<double>(sequences * (kContext * kFull + kWindow * kWindowed) +
                               rows * kWindowed);
  };
  // A layer with a window also has room for the rows of a step, whichever sequences they belong to.
  EXPECT_LT(kv(1, 512), 1.05 * windows(1, 512));
  EXPECT_LT(kv(1, 128), 1.05 * windows(1, 0));
  EXPECT_LT(kv(8, 512), 1.05 * windows(8, 0));
  options.gives_back = false;
  EXPECT_EQ(kv(1, 512), static_cast<double>(kContext * (kFull + kWindowed)));
}

// Window pages get as much of kv_bytes as they can use, but at most half.
TEST(EngineLayout, WindowPagesStandBesideTheOthers) {
  const TestModel model(gemma4_26b());
  Machine machine = Machine::invented(1, 1);
  machine.memory_available = 0;  // unknown
  EngineOptions options;
  options.threads = 1;
  options.sequences = 8;
  auto lay_out = [&] { return lay_out_engine(model.spec(), machine, Isa::kReference, options); };
  options.kv_bytes = uint64_t{4} << 30;
  EngineLayout layout = lay_out();
  const double full = static_cast<double>(layout.kv.page_bytes(0) * layout.kv.page_count());
  EXPECT_NEAR(full, 0x1p31, 0.01 * 0x1p31);
  EXPECT_LE(layout.memory().kv, options.kv_bytes);
  EXPECT_EQ(layout.options.window_pages, layout.kv.page_count(KvKind::kWindow));
  options.kv_bytes = uint64_t{64} << 30;
  EXPECT_EQ(lay_out().options.window_pages, 2 * 8 * 17 + 8u) << "as many windows are kept as held";
  options.kv_bytes = 0;
  options.kv_pages = 1000;
  EXPECT_EQ(lay_out().options.window_pages, 1000u);
  options.window_pages = 25;
  EXPECT_EQ(lay_out().options.window_pages, 25u);
  options.window_pages = 24;
  try {
    lay_out();
    FAIL() << "it is taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.field(), "window_pages");
  }
}

// Each shard with heads holds the latents once, and once more for every other group that shares it
// in either phase.
TEST(EngineLayout, LatentsLieOnceOnAShardForEachOfItsGroups) {
  TestModel model(latent_source({.layers = 3,
                                 .width = 128,
                                 .heads = 8,
                                 .kv_lora_rank = 512,
                                 .nope_length = 32,
                                 .rope_length = 64}));
  constexpr uint64_t kPage = uint64_t{kPagePositions} * (512 + 64) * 2 * 3;
  auto bytes = [&](uint32_t shards, uint32_t prefill_groups, uint32_t decode_groups) {
    EngineOptions options;
    options.threads = 4;
    options.shards = shards;
    options.prefill_groups = prefill_groups;
    options.decode_groups = decode_groups;
    EngineLayout layout = lay_out_engine(model.spec(), Machine::invented(shards, 4 / shards),
                                         Isa::kReference, options);
    for (uint32_t s = 1; s < shards; ++s) {
      EXPECT_EQ(layout.kv.page_bytes(s), layout.kv.page_bytes(0));
    }
    return layout.kv.page_bytes(0);
  };
  EXPECT_EQ(bytes(1, 1, 1), kPage);
  EXPECT_EQ(bytes(4, 1, 4), kPage);
  EXPECT_EQ(bytes(2, 2, 1), kPage);
  EXPECT_EQ(bytes(2, 1, 4), 2 * kPage);
  EXPECT_EQ(bytes(1, 3, 2), 3 * kPage);
}

}  // namespace
}  // namespace hearth
