// Tests of stream plans for a described model with 128 experts a layer. Passes with these plans run
// on an accelerator that computes and stores nothing; the tests check their time and the calls they
// make.
#include "hybrid/stream_plan.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "accelerator/virtual/timed_accelerator.h"
#include "fast_gpu.h"
#include "hybrid/described_target.h"
#include "hybrid/prefill_pass.h"
#include "models/registry.h"

namespace hearth {
namespace {

constexpr const char* kConfig = R"({"architectures": ["Qwen3MoeForCausalLM"], "head_dim": 64,
  "hidden_size": 512, "intermediate_size": 1024, "max_position_embeddings": 8192,
  "moe_intermediate_size": 128, "norm_topk_prob": true, "num_attention_heads": 8,
  "num_experts": 128, "num_experts_per_tok": 8, "num_hidden_layers": 5, "num_key_value_heads": 4,
  "rms_norm_eps": 1e-06, "rope_theta": 1000000.0, "tie_word_embeddings": false,
  "torch_dtype": "bfloat16", "vocab_size": 1024})";
constexpr uint32_t kExperts = 128, kLayersOfExperts = 4;  // the last layer multiplies no experts

ModelSource described_source() {
  namespace fs = std::filesystem;
  std::string folder = (fs::temp_directory_path() / "hearth-plan-XXXXXX").native();
  if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no temporary folder");
  const fs::path config = fs::path(folder) / "config.json";
  std::ofstream(config) << kConfig;
  ModelSource source = open_model_shape(config.native());
  fs::remove_all(folder);
  return source;
}

MeasuredAccelerator described(bool imports) {
  MeasuredAccelerator gpu = fast_gpu();
  gpu.facts.allocation_bytes = uint64_t{1} << 32;
  if (!imports) gpu.facts.import_alignment = 0;
  gpu.rates.import_to = gpu.rates.import_from = TransferRate{1, exactly(1e10)};
  gpu.rates.products = {{PackKind::kBF16, 1, 256, exactly(1e12)}};
  return gpu;
}

// An accelerator that counts memory, and records reads and submitted lists.
class NotingAccelerator : public TimedAccelerator {
 public:
  using TimedAccelerator::TimedAccelerator;
  Buffer allocate(uint64_t bytes) override {
    bytes_ += bytes;
    ++count_;
    return TimedAccelerator::allocate(bytes);
  }
  void submit(const CommandList& list) override {
    notes_ += 's';
    TimedAccelerator::submit(list);
  }
  void read(Place from, std::span<std::byte> bytes) override {
    if (notes_.empty() || notes_.back() != 'r') notes_ += 'r';
    TimedAccelerator::read(from, bytes);
  }
  uint64_t bytes() const { return bytes_; }
  uint32_t count() const { return count_; }
  const std::string& notes() const { return notes_; }

 private:
  uint64_t bytes_ = 0;
  uint32_t count_ = 0;
  std::string notes_;
};

class StreamPlanTest : public testing::Test {
 protected:
  StreamPlanTest()
      : source_(described_source()),
        target_(make_spec(source_), Machine::invented(2, 1), {{0, 1}, {1, 1}}, KvType::kF16, 4096) {
  }

  StreamPlan plan(const StreamPlanOptions& options) const {
    return plan_stream(target_.target(), described(true).facts, options);
  }
  PassTarget only_timed() const {
    PassTarget target = target_.target();
    target.only_timed = true;
    return target;
  }

  ModelSource source_;
  DescribedTarget target_;
};

TEST_F(StreamPlanTest, MemoryIsWhatAPassTakes) {
  for (const uint32_t rows : {64u, 1000u, 8192u, kMaxPassRows}) {
    for (const uint32_t kept : {0u, 2u, 5u}) {
      for (const uint32_t ring : {2u, 128u}) {
        SCOPED_TRACE(testing::Message() << rows << " rows, " << kept << " kept, ring " << ring);
        const StreamPlan made = plan({.rows = rows, .memory = 0, .kept = kept, .experts = ring});
        const auto gpu = std::make_shared<NotingAccelerator>(described(true));
        const PrefillPass pass(only_timed(), gpu, made);
        EXPECT_LE(gpu->bytes(), made.bytes());
        EXPECT_GE(static_cast<double>(gpu->bytes()), 0.98 * static_cast<double>(made.bytes()));
      }
    }
  }
}

// A plan is the same if the values of a made plan are given as the wanted values.
TEST_F(StreamPlanTest, APlanThatIsAskedForIsTheSame) {
  for (const std::optional<uint32_t> ring :
       {std::optional<uint32_t>{}, {2}, {3}, {5}, {8}, {31}, {256}}) {
    SCOPED_TRACE(testing::Message() << "ring " << ring.value_or(0));
    const StreamPlan made = plan({.rows = 0, .memory = 300 << 20, .kept = {}, .experts = ring});
    EXPECT_GT(made.experts, 0u);
    EXPECT_EQ(made, plan({.rows = made.rows,
                          .memory = 300 << 20,
                          .kept = made.kept,
                          .berths = made.berths,
                          .experts = made.experts}));
  }
}

// A plan has as many rows as memory has room for. A limit on the length of buffers reduces them
// only if a single value would be longer.
TEST_F(StreamPlanTest, RowsAreCutOnlyByASingleValue) {
  const auto with_pieces = [&](uint64_t bytes, const StreamPlanOptions& options) {
    AcceleratorFacts facts = described(true).facts;
    facts.allocation_bytes = bytes;
    return plan_stream(target_.target(), facts, options);
  };
  const StreamPlanOptions asked{.rows = 4096, .memory = 0, .kept = 0, .experts = 2};
  const StreamPlan whole = plan(asked), cut = with_pieces(whole.min_piece, asked);
  EXPECT_EQ(cut.rows, 4096u);
  EXPECT_GT(cut.pass_bytes - cut.page_bytes, 2 * cut.min_piece);
  EXPECT_LE(cut.pass_bytes, whole.pass_bytes + whole.pass_bytes / 4);
  auto gpu = described(true);
  gpu.facts.allocation_bytes = cut.min_piece;
  const auto taken = std::make_shared<NotingAccelerator>(gpu);
  const PrefillPass pass(only_timed(), taken, cut);
  EXPECT_LE(taken->bytes(), cut.bytes());
  EXPECT_THROW(with_pieces(whole.min_piece - 1, asked), Error);
  StreamPlanOptions free = asked;
  free.rows = 0;
  const StreamPlan fewer = with_pieces(whole.min_piece - 1, free);
  EXPECT_EQ(fewer.rows, 2048u);
  EXPECT_EQ(fewer.no_piece, whole.min_piece);
  EXPECT_EQ(plan(free).no_piece, 0u);
  EXPECT_NE(stream_plan_text(fewer, 5).find("passes of 2048 rows (more rows would need "),
            std::string::npos);
}

// The results of many experts over this many rows would be longer than a buffer may be.
TEST_F(StreamPlanTest, FewerExpertsAreMultipliedAtOnceOfManyRows) {
  const StreamPlan few = plan({.rows = 512, .memory = 0, .kept = 2, .experts = 128});
  const StreamPlan many = plan({.rows = kMaxPassRows, .memory = 0, .kept = 2, .experts = 128});
  EXPECT_EQ(few.expert_batch, kExperts / 8);
  EXPECT_EQ(many.expert_batch, kExperts / 8) << "a row has eight of them at most";
  AcceleratorFacts facts = described(true).facts;
  facts.allocation_bytes = uint64_t{3} * kMaxPassRows * 512 * sizeof(float);
  const StreamPlan cut = plan_stream(
      target_.target(), facts, {.rows = kMaxPassRows, .memory = 0, .kept = 2, .experts = 128});
  EXPECT_EQ(cut.expert_batch, 3u);
  EXPECT_EQ(cut.kept_batch, 3u);
}

TEST_F(StreamPlanTest, KeptExpertsAreMultipliedByTheSegment) {
  const StreamPlan some = plan({.rows = 512, .memory = 0, .kept = 2, .experts = 2});
  EXPECT_EQ(some.expert_batch, 1u) << "half of the ring";
  EXPECT_EQ(some.kept_batch, kExperts / 8);
  EXPECT_EQ(plan({.rows = 512, .memory = 0, .kept = 0, .experts = 2}).kept_batch, 0u);
  EXPECT_EQ(plan({.rows = 512, .memory = 0, .kept = 5}).expert_batch, 0u);
}

TEST_F(StreamPlanTest, MemoryIsTakenInFewPieces) {
  const StreamPlan made = plan({.rows = 512, .memory = 0, .kept = 2, .experts = kMaxRing});
  EXPECT_EQ(made.experts, 2 * kExperts * (kLayersOfExperts - 2)) << "there are no more";
  const auto gpu = std::make_shared<NotingAccelerator>(described(true));
  const PrefillPass pass(only_timed(), gpu, made);
  EXPECT_LE(gpu->count(), 10u);
}

// The host copies a layer's pages itself where no memory is imported. It does so after it submitted
// the whole layer, so that the accelerator has work during the copy.
TEST_F(StreamPlanTest, PagesThatTheHostCopiesWaitForNoExperts) {
  const PassTarget target = only_timed();
  const StreamPlan made =
      plan_stream(target, described(false).facts, {.rows = 128, .memory = 0, .kept = 5});
  const auto gpu = std::make_shared<NotingAccelerator>(described(false));
  PrefillPass pass(target, gpu, made);
  const std::vector<int32_t> tokens(128, 0);
  const std::vector<uint32_t> pages = {0, 1};
  const PassText text{tokens, 0, pages, {}};
  AllWanted watch;
  pass.run({&text, 1}, watch);
  // Each layer but the last submits a list for attention, eight for batches of experts on each of
  // two shards, and one for the rest of the layer.
  const std::string layer = std::string(18, 's') + 'r';
  EXPECT_EQ(gpu->notes(), layer + layer + layer + layer + "sr");
}

}  // namespace
}  // namespace hearth
