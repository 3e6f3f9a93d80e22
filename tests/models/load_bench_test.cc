// Tests of measuring the loading of a whole model: the loaded bytes, the copied bytes, and the
// results.
#include "bench/load_bench.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "bench/file_copy.h"
#include "formats/gguf.h"
#include "models/shard_tasks.h"
#include "tiny_model.h"

namespace hearth {
namespace {

OpenedModel tiny_model(const TinyShape& shape) {
  ModelSource source = parse_gguf(tiny_llama(shape), "tiny");
  ModelSpec spec = make_spec(source);
  return {std::move(source), std::move(spec), nullptr};
}

class LoadBenchTest : public testing::Test {
 protected:
  LoadBenchTest() : model_(tiny_model(TinyShape{})) {
    options_.context = 64;
    hooks_.progress = [this](uint64_t bytes, std::string_view doing) {
      rises_ = rises_ && bytes >= reported_;
      reported_ = bytes;
      doing_ = doing;
    };
    hooks_.note = [this](const std::string& text) { notes_.push_back(text); };
    hooks_.loaded = [this](const Engine& engine) {
      ++loads_;
      shards_ = engine.options().shards;
      planned_ = engine.memory().total();
      weights_ = engine.memory().weights;
    };
  }

  LoadResult run(const Machine& machine, uint32_t repetitions) {
    LoadBench bench(model_, Isa::kReference, hooks_);
    bench.read_through(machine);
    return bench.run(machine, options_, repetitions);
  }

  OpenedModel model_;
  EngineOptions options_;
  LoadHooks hooks_;
  std::vector<std::string> notes_;
  std::string doing_;
  uint64_t reported_ = 0, planned_ = 0, weights_ = 0;
  uint32_t loads_ = 0, shards_ = 0;
  bool rises_ = true;
};

TEST_F(LoadBenchTest, LoadsAndCopiesTakeTurns) {
  options_.threads = 2;
  LoadResult result = run(Machine::invented(1, 2), 3);
  ASSERT_EQ(result.repetitions.size(), 3u);
  for (const LoadRepetition& repetition : result.repetitions) {
    EXPECT_GT(repetition.packing_seconds, 0);
    EXPECT_GT(repetition.seconds, repetition.packing_seconds);
    EXPECT_GT(repetition.copying_seconds, 0);
    EXPECT_TRUE(std::isfinite(repetition.copying_seconds / repetition.packing_seconds));
  }
  // TinyShape: 2 layers, width 64, 4 heads over 2 of 16, FFN 96, 80 tokens, tied, F32.
  EXPECT_EQ(result.file_bytes, 4u * (80 * 64 + 2 * (2 * 64 * 64 + 2 * 32 * 64 + 3 * 96 * 64)));
  EXPECT_EQ(result.planned_bytes, planned_);
  EXPECT_EQ(result.packed_bytes, weights_);
  EXPECT_EQ(loads_, 3u);
  EXPECT_TRUE(notes_.empty()) << notes_[0];
  EXPECT_TRUE(rises_);
  EXPECT_EQ(reported_, model_.source.file_bytes() + 6 * result.file_bytes);
  EXPECT_EQ(doing_, "3 of 3");
}

TEST_F(LoadBenchTest, PackingIsOfWhatIsCopied) {
  size_t total = 0;
  Engine engine(model_.source, model_.spec, Machine::invented(1, 1), Isa::kReference, options_,
                [&](size_t, size_t of) { total = of; });
  EXPECT_EQ(total, model_.spec.matrix_bytes());
  EXPECT_GT(engine.model()->packing_seconds(), 0);
}

TEST_F(LoadBenchTest, OverSeveralNodes) {
  options_.threads = 2;
  EXPECT_EQ(run(Machine::invented(2, 1), 1).repetitions.size(), 1u);
  EXPECT_EQ(shards_, 2u);
}

TEST_F(LoadBenchTest, AnInterruptKeepsWholePairs) {
  options_.threads = 1;
  hooks_.interrupted = [this] { return loads_ == 3; };
  EXPECT_EQ(run(Machine::invented(1, 1), 5).repetitions.size(), 2u);
  EXPECT_EQ(loads_, 3u);
  EXPECT_TRUE(run(Machine::invented(1, 1), 5).repetitions.empty()) << "it stays interrupted";
}

TEST_F(LoadBenchTest, ReportsAPageCacheThatIsTooSmall) {
  Machine machine = Machine::invented(1, 1);
  machine.memory_available = model_.source.file_bytes();
  LoadBench bench(model_, Isa::kReference, hooks_);
  bench.read_through(machine);
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_NE(notes_[0].find("may drop out of the page cache"), std::string::npos) << notes_[0];
  EXPECT_EQ(reported_, 0u) << "it was read nevertheless";
}

// The copy has every byte of every matrix, in one place. The table is larger than a task.
TEST_F(LoadBenchTest, ACopyIsTheFile) {
  OpenedModel model = tiny_model(TinyShape{.vocabulary = 20'000});
  uint64_t all = model.spec.matrix_bytes();
  ASSERT_GT(all, 4 * kShardTaskBytes);
  Machine machine = Machine::invented(3, 1);
  Team team(2);
  std::vector<CopyShard> shards = {{0, 3}, {1, 0}, {2, 2}};
  FileCopy copy(model.source, model.spec, machine, shards, Binding::kNode);
  uint64_t reported = 0;
  auto report = [&](uint64_t bytes) { reported = std::max(reported, bytes); };
  EXPECT_GT(copy.run(team, {0, 2}, report), 0);
  EXPECT_LE(reported, all);
  std::map<const SourceTensor*, size_t> ends;
  uint64_t bytes = 0;
  for (size_t s = 0; s < shards.size(); ++s) {
    uint64_t here = 0;
    for (const FileCopy::Piece& piece : copy.pieces(s)) {
      const uint64_t begin = piece.from.offset - piece.tensor->offset;
      std::span<const std::byte> source = piece.tensor->data.subspan(begin, piece.from.bytes);
      EXPECT_TRUE(std::equal(source.begin(), source.end(), piece.to)) << piece.tensor->name;
      EXPECT_EQ(begin, ends[piece.tensor]) << piece.tensor->name;
      ends[piece.tensor] += piece.from.bytes;
      here += piece.from.bytes;
    }
    auto part = static_cast<double>(all) * static_cast<double>(shards[s].share) / 5;
    // Each of 15 matrices is cut at a multiple of 64 bytes.
    EXPECT_NEAR(static_cast<double>(here), part, 15 * 64) << s;
    bytes += here;
  }
  EXPECT_EQ(bytes, all);
}

}  // namespace
}  // namespace hearth
