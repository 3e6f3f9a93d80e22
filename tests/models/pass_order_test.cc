// Tests of the order of commands in streamed passes over models with experts, for rings of every
// length. Any order that the lists allow gives the cores' bits. The checker, and runs in random
// orders, find lists that order too little. HEARTH_ALL_STREAMS in the environment runs more of
// each.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>
#include <random>
#include <set>
#include <utility>

#include "accelerator/check_commands.h"
#include "accelerator/command_order.h"
#include "accelerator/virtual/timed_accelerator.h"
#include "accelerator/virtual/virtual_accelerator.h"
#include "engine/engine.h"
#include "fast_gpu.h"
#include "formats/gguf.h"
#include "hybrid/described_target.h"
#include "hybrid/prefill_pass.h"
#include "models/test_source.h"
#include "same_bits.h"
#include "streaming.h"
#include "tiny_engine.h"

namespace hearth {
namespace {

#if defined(HEARTH_FEW_ROUNDS)
constexpr uint32_t kRings = 7, kSeeds = 60;  // every kRings-th ring is tested
#else
constexpr uint32_t kRings = 1, kSeeds = 1000;
#endif

constexpr uint32_t kLayers = 3;  // a pass multiplies no experts of the last one
constexpr uint32_t kExperts = 10;
constexpr uint32_t kCopyQueue = 1;

// Returns the shape of the checker's models. Some segments have two experts and others one, so that
// batches of up to two hold either number.
ModelShape shape_of(bool latents) {
  return {.architecture = latents ? "deepseek2" : "qwen3moe",
          .layers = kLayers,
          .heads = 3,
          .kv_heads = 3,
          .experts = {.count = kExperts, .chosen = 3, .ffn = 96, .shared = latents ? 1U : 0U}};
}

// Keeps all submitted lists, and the ranges of memory that the host filled.
class KeepingAccelerator : public TimedAccelerator {
 public:
  using TimedAccelerator::TimedAccelerator;
  Buffer import(std::span<std::byte> memory) override {
    Buffer made = TimedAccelerator::import(memory);
    note(made.at(), memory.size());
    return made;
  }
  void write(Place to, std::span<const std::byte> bytes) override {
    note(to, bytes.size());
    TimedAccelerator::write(to, bytes);
  }
  void submit(const CommandList& list) override {
    std::ranges::copy(list.commands, std::back_inserter(list_.commands));
    TimedAccelerator::submit(list);
  }
  const CommandList& list() const { return list_; }
  CommandsAround around() const {
    return {.queues = static_cast<uint32_t>(facts().queues.size()), .filled = filled_};
  }

 private:
  void note(Place at, uint64_t bytes) {
    if (bytes > 0) filled_.push_back({.at = at, .bytes = bytes, .writes = true});
  }

  CommandList list_;
  std::vector<Access> filled_;
};

// A model that is only described, cut over some shards.
class Streamed {
 public:
  Streamed(bool latents, uint32_t shards, ExpertCut cut)
      : shards_(shards),
        cut_(cut),
        model_(made_source(shape_of(latents))),
        target_(model_.spec(), Machine::invented(shards, 1), placement(shards, cut), KvType::kF16,
                256) {}

  // Returns how many pieces the experts of all layers but the last have, over the shards that have
  // any.
  uint32_t pieces() const {
    return (kLayers - 1) * kExperts * (cut_ == ExpertCut::kCut ? shards_ : 1);
  }

  // Returns the lists of two passes over two texts, one after the other.
  std::shared_ptr<KeepingAccelerator> kept_lists(const StreamPlan& plan, uint32_t queues) const {
    const auto kept = accelerator(queues);
    PrefillPass pass(target_.target(), kept, plan);
    const std::vector<int32_t> tokens(plan.rows - 9, 0);
    const std::vector<uint32_t> pages = {0, 1, 2, 3};
    AllWanted watch;
    for (const uint32_t first : {0u, plan.rows - 9}) {
      const PassText texts[] = {
          {tokens, first, std::span(pages).first(pages_for(first + plan.rows - 9)), {}, first + 30},
          {std::span(tokens).first(9), 0, std::span(pages).subspan(3), {}, 9}};
      pass.run(texts, watch);
    }
    return kept;
  }

  // The lists of passes over texts of so many tokens, one after another.
  std::shared_ptr<KeepingAccelerator> kept_lists_of(const StreamPlan& plan,
                                                    std::span<const uint32_t> lengths) const {
    const auto kept = accelerator(2);
    PrefillPass pass(target_.target(), kept, plan);
    const std::vector<int32_t> tokens(plan.rows, 0);
    const std::vector<uint32_t> pages = {0, 1, 2, 3};
    AllWanted watch;
    for (const uint32_t length : lengths) {
      const PassText text{std::span(tokens).first(length),
                          0,
                          std::span(pages).first(pages_for(length)),
                          {},
                          length};
      pass.run({&text, 1}, watch);
    }
    return kept;
  }

 private:
  static std::shared_ptr<KeepingAccelerator> accelerator(uint32_t queues) {
    MeasuredAccelerator gpu = fast_gpu();
    gpu.facts.queues.resize(queues);
    return std::make_shared<KeepingAccelerator>(gpu, TimedOptions{});
  }
  static ModelPlacement placement(uint32_t shards, ExpertCut cut) {
    std::vector<uint32_t> nodes(shards);
    std::iota(nodes.begin(), nodes.end(), 0);
    return {nodes, std::vector<uint32_t>(shards, 1), Binding::kNode, cut};
  }

  const uint32_t shards_;
  const ExpertCut cut_;
  TestModel model_;
  DescribedTarget target_;
};

// Returns a plan whose ring has this length. Its other values follow from the length.
StreamPlan plan_of(uint32_t ring) {
  const uint32_t batch = 1 + ring % 2;
  return {.rows = 70,
          .pages = 16,
          .kept = ring % 3 == 0 ? 1u : 0u,
          .berths = 1 + ring / 2 % 3,
          .experts = ring * batch,
          .expert_batch = batch,
          .kept_batch = 1};
}

std::vector<CommandFault> faults_of(const CommandList& list, const KeepingAccelerator& of) {
  return check_commands(list, of.around());
}

template <typename Act>
void for_each_placing(const Act& act) {
  for (uint32_t shards = 1; shards <= 3; ++shards) {
    act(shards, ExpertCut::kCut);
    if (shards > 1) act(shards, ExpertCut::kSpread);
  }
}

TEST(PassOrder, ListsAreSoundForRingsOfEveryLength) {
  for (const bool latents : {false, true}) {
    for_each_placing([&](uint32_t shards, ExpertCut cut) {
      const Streamed model(latents, shards, cut);
      for (uint32_t ring = kMinRing; ring <= model.pieces(); ring += kRings) {
        if (testing::Test::HasFailure()) return;
        for (const uint32_t queues : {1u, 2u}) {
          if (!all_streams() && queues != 1 + (ring + shards) % 2) continue;
          SCOPED_TRACE(testing::Message() << (latents ? "latents, " : "") << shards << " shards, a "
                                          << "ring of " << ring << ", " << queues << " queues");
          const auto kept = model.kept_lists(plan_of(ring), queues);
          for (const CommandFault& fault : faults_of(kept->list(), *kept)) {
            ADD_FAILURE() << fault.text;
          }
        }
      }
    });
  }
}

// Returns how many places the list copies experts to.
size_t places_of_copies(const CommandList& list) {
  std::set<std::pair<BufferId, uint64_t>> places;
  for (const Command& command : list.commands) {
    if (command.queue != kCopyQueue) continue;
    const Place to = std::get<CopyBytes>(command.work).to;
    places.emplace(to.buffer, to.offset);
  }
  return places.size();
}

TEST(PassOrder, ListsAreSoundWhereTheRingGrowsAndShrinks) {
  for (const bool latents : {false, true}) {
    for_each_placing([&](uint32_t shards, ExpertCut cut) {
      const Streamed model(latents, shards, cut);
      for (const uint32_t ring : {2u, 3u, 6u}) {
        SCOPED_TRACE(testing::Message() << (latents ? "latents, " : "") << shards << " shards, a "
                                        << "ring of " << ring);
        StreamPlan plan = plan_of(ring);
        plan.rows = 250;
        plan.ring_grows = true;
        const auto kept = model.kept_lists_of(plan, std::array{62u, 250u, 20u, 110u, 249u, 62u});
        for (const CommandFault& fault : faults_of(kept->list(), *kept)) {
          ADD_FAILURE() << fault.text;
        }
        const auto few = model.kept_lists_of(plan, std::array{62u});
        const auto many = model.kept_lists_of(plan, std::array{250u});
        EXPECT_GT(places_of_copies(few->list()), places_of_copies(many->list()));
      }
    });
  }
}

bool reads(const Command& command, const Access& bytes) {
  return std::ranges::any_of(accesses_of(command), [&](const Access& access) {
    return !access.writes && access.at.buffer == bytes.at.buffer && overlap(access, bytes);
  });
}

// Returns the last command before this one that is not on the copy queue.
size_t computing_before(const CommandList& list, size_t command) {
  do {
    --command;
  } while (list.commands[command].queue == kCopyQueue);
  return command;
}

// A copy into a berth that is used again, and the last command that reads the berth's old contents.
// The copy must wait for that command.
struct Reuse {
  size_t copy, reader;
};

std::vector<Reuse> reuses_of(const CommandList& list) {
  std::vector<Reuse> reuses;
  for (size_t i = 0; i < list.commands.size(); ++i) {
    const Command& command = list.commands[i];
    // Only loads of a single copy are considered.
    if (command.queue != kCopyQueue || command.waits.empty() || command.signals.empty()) continue;
    const auto& copy = std::get<CopyBytes>(command.work);
    const Access berth{.at = copy.to, .bytes = copy.bytes};
    size_t reader = i;
    do {
      reader = computing_before(list, reader);
    } while (!reads(list.commands[reader], berth));
    reuses.push_back({i, reader});
  }
  return reuses;
}

// Returns the list changed so that the copy waits for the end of this command and for nothing else.
CommandList begun_behind(CommandList list, size_t copy, size_t command) {
  constexpr TimelineId kOwn = 1000;
  list.commands[command].signals.push_back({kOwn, 1});
  list.commands[copy].waits = {{kOwn, 1}};
  return list;
}

TEST(PassOrder, ReportsABerthThatIsReusedTooEarly) {
  uint32_t count = 0;
  for (const uint32_t ring : {2u, 3u, 7u}) {
    const Streamed model(false, 2, ExpertCut::kCut);
    const auto kept = model.kept_lists(plan_of(ring), 2);
    const CommandList& list = kept->list();
    for (const auto& [copy, reader] : reuses_of(list)) {
      if (testing::Test::HasFailure()) return;
      const size_t early = computing_before(list, reader);
      const CommandList hasty = begun_behind(list, copy, early);
      // The copy needs no wait if an earlier copy on its queue waits for the reader.
      if (CommandOrder(hasty, kept->around()).before(reader, copy)) continue;
      SCOPED_TRACE(testing::Message() << "ring " << ring << ", command " << copy);
      EXPECT_TRUE(faults_of(begun_behind(list, copy, reader), *kept).empty())
          << "behind its last reader";
      const auto faults = faults_of(hasty, *kept);
      EXPECT_TRUE(std::ranges::any_of(faults, [&](const CommandFault& fault) {
        return fault.command == copy && fault.other == reader;
      }));
      ++count;
    }
  }
  EXPECT_GT(count, 50u);
}

TEST(PassOrder, ReportsAStageAheadOfItsCopy) {
  const Streamed model(false, 2, ExpertCut::kSpread);
  const auto kept = model.kept_lists(plan_of(4), 2);
  uint64_t arrived = 0;
  uint32_t count = 0;
  for (size_t i = 0; i < kept->list().commands.size(); ++i) {
    const Command& command = kept->list().commands[i];
    if (command.queue == kCopyQueue || command.waits.empty()) continue;
    // This wait has no effect if an earlier command of the queue waited for the same value.
    if (command.waits[0].value <= arrived) continue;
    arrived = command.waits[0].value;
    CommandList early = kept->list();
    if (--early.commands[i].waits[0].value == 0) early.commands[i].waits.clear();
    EXPECT_FALSE(faults_of(early, *kept).empty()) << "command " << i;
    ++count;
  }
  EXPECT_GT(count, 20u);
}

// An engine with a model of experts, and its own results after a text.
class Cores {
 public:
  Cores(const ModelSource& file, uint32_t shards, ExpertCut cut) {
    EngineOptions options;
    options.threads = options.shards = shards;
    options.context = 64;
    options.sequences = 2;
    options.kv_type = KvType::kF32;
    options.experts = cut;
    engine_ = tiny_engine(file, options);
    std::mt19937 random(shards);
    tokens_ = random_tokens(random, kTokens, engine_->spec().hyper.vocabulary);
    const auto sequence = engine_->new_sequence();
    engine_->prefill(*sequence, tokens_);
    expected_ = logits();
  }

  // Returns whether the results are the same for a text whose tokens, except the last, go through
  // the accelerator.
  bool gives_the_same(const std::shared_ptr<Accelerator>& gpu, const StreamPlan& plan) {
    const std::span<const int32_t> tokens = tokens_;
    const auto sequence = engine_->new_sequence();
    sequence->grow_for_passes(tokens.first(kTokens - 1));
    const PassText text{tokens.first(kTokens - 1), 0, sequence->pages()};
    AllWanted watch;
    PrefillPass(engine_->pass_target(), gpu, plan).run({&text, 1}, watch);
    sequence->finish_passes();
    engine_->prefill(*sequence, tokens.last(1));
    return same_bits(expected_, logits());
  }

 private:
  static constexpr uint32_t kTokens = 9;

  std::vector<float> logits() const {
    const std::span<const float> row = engine_->logits(0);
    return {row.begin(), row.end()};
  }

  std::unique_ptr<Engine> engine_;
  std::vector<int32_t> tokens_;
  std::vector<float> expected_;
};

class PassSeeds : public testing::Test {
 protected:
  static constexpr uint32_t kOfALayer = 8;  // tiny_qwen3moe

  PassSeeds() : file_(tiny_qwen3moe(shape())), source_(parse_gguf(file_, "tiny")) {
    for_each_placing([&](uint32_t shards, ExpertCut cut) {
      const uint32_t pieces = (kLayers - 1) * kOfALayer * (cut == ExpertCut::kCut ? shards : 1);
      cores_.push_back({std::make_unique<Cores>(source_, shards, cut), pieces});
    });
  }

  struct Placed {
    std::unique_ptr<Cores> cores;
    uint32_t pieces;
  };
  const Placed& placed(uint32_t seed) const { return cores_[seed % cores_.size()]; }
  // The seeds take rings of every length in turn.
  StreamPlan plan(uint32_t seed) const {
    const auto placings = static_cast<uint32_t>(cores_.size());
    return with_ring(kMinRing + seed / placings % (placed(seed).pieces - 1));
  }
  static StreamPlan with_ring(uint32_t ring) {
    StreamPlan plan = plan_of(ring);
    plan.rows = 64;
    plan.pages = 1;
    return plan;
  }
  // Returns the seed's plan with room for more rows than the text has. The ring takes the memory of
  // rows that a pass does not use.
  StreamPlan growing(uint32_t seed) const {
    StreamPlan made = plan(seed);
    made.rows = 128 << seed % 3;
    made.ring_grows = true;
    return made;
  }
  static VirtualOptions options(uint32_t seed, uint32_t queues) {
    return {
        .seed = seed, .queues = queues, .second_computes = seed % 4 == 1, .imports = seed % 8 != 7};
  }

 private:
  static TinyShape shape() {
    TinyShape shape = kTiniest;
    shape.layers = kLayers;
    shape.ffn = 192;
    return shape;
  }

  std::vector<std::byte> file_;
  ModelSource source_;
  std::vector<Placed> cores_;
};

TEST_F(PassSeeds, GiveTheBitsOfTheCores) {
  const uint32_t seeds = all_streams() ? 20 * kSeeds : kSeeds;
  for (uint32_t seed = 0; seed < seeds && !HasFailure(); ++seed) {
    const auto gpu = std::make_shared<VirtualAccelerator>(options(seed, 1 + seed % 7 % 2));
    EXPECT_TRUE(placed(seed).cores->gives_the_same(gpu, plan(seed))) << "seed " << seed;
  }
}

TEST_F(PassSeeds, GiveTheBitsOfTheCoresWhereTheRingGrows) {
  for (uint32_t seed = 0; seed < kSeeds / 4 && !HasFailure(); ++seed) {
    const auto gpu = std::make_shared<VirtualAccelerator>(options(seed, 1 + seed % 7 % 2));
    EXPECT_TRUE(placed(seed).cores->gives_the_same(gpu, growing(seed))) << "seed " << seed;
  }
}

// An accelerator on which the commands of one queue wait for nothing.
class HastyAccelerator : public VirtualAccelerator {
 public:
  HastyAccelerator(const VirtualOptions& options, uint32_t queue)
      : VirtualAccelerator(options), queue_(queue) {}
  void submit(const CommandList& list) override {
    CommandList hasty = list;
    for (Command& command : hasty.commands) {
      if (command.queue == queue_) command.waits.clear();
    }
    VirtualAccelerator::submit(hasty);
  }

 private:
  uint32_t queue_;
};

// Copies do not wait for their berth, or products do not wait for their copies. Memory that was not
// written is NaN.
TEST_F(PassSeeds, HastyCommandsChangeTheResult) {
  for (const uint32_t queue : {0u, kCopyQueue}) {
    uint32_t shown = 0;
    for (uint32_t seed = 0; seed < 100; ++seed) {
      VirtualOptions of = options(seed, 2);
      of.imports = true;
      const auto gpu = std::make_shared<HastyAccelerator>(of, queue);
      shown += placed(seed).cores->gives_the_same(gpu, with_ring(2)) ? 0 : 1;
    }
    EXPECT_GT(shown, 2u) << "queue " << queue;
  }
}

}  // namespace
}  // namespace hearth
