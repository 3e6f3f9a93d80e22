// Tests of the virtual time of passes over prompts. Their own command lists run by the clock of a
// described accelerator; nothing is computed or stored.
#include "hybrid/pass_time.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "engine/engine.h"
#include "fast_gpu.h"
#include "formats/gguf.h"
#include "hybrid/described_target.h"
#include "hybrid/layer_runs.h"
#include "models/test_source.h"
#include "tiny_model.h"

namespace hearth {
namespace {

constexpr uint32_t kLayers = 8, kContext = 2048;
constexpr double kFast = 1e15;

LlamaShape shape() {
  return {.layers = kLayers,
          .width = 128,
          .heads = 4,
          .kv_heads = 2,
          .key_length = 32,
          .value_length = 32,
          .ffn = 256,
          .type = DType::kQ8_0};
}

// Describes a GPU on which only copies in and products take time.
MeasuredAccelerator described(double bytes_in, double multiply_adds) {
  MeasuredAccelerator gpu = fast_gpu();
  gpu.rates.import_to = TransferRate{1, exactly(bytes_in)};
  gpu.rates.products = {{PackKind::kQ8_0, 1, 256, exactly(multiply_adds)}};
  gpu.rates.kernels = {{"attend pages f16", 64, 64, exactly(kFast)}};
  return gpu;
}

// Describes a GPU on which only attention takes time: this many seconds a layer for a row and a
// token.
MeasuredAccelerator attending(double seconds) {
  MeasuredAccelerator gpu = described(kFast, kFast);
  const double multiply_adds = double{2} * shape().heads * shape().key_length;
  gpu.rates.kernels = {{"attend pages f16", 64, 64, spread_of({multiply_adds / seconds})}};
  return gpu;
}

class PassTimeTest : public testing::Test {
 protected:
  PassTimeTest()
      : model_(shape()),
        target_(model_.spec(), Machine::invented(1, 1), {{0}, {1}}, KvType::kF16, kContext) {
    for (const LayerRuns& layer : layer_runs(*target_.target().model)) bytes_ += layer.bytes;
    for (const WeightSpec& weight : model_.spec().weights) {
      // A pass computes only keys and values of the last layer.
      if (!weight.is_matrix() || weight.layer < 0) continue;
      if (weight.layer + 1 < static_cast<int>(kLayers)) adds_ += double{1} * weight.rows * weight.k;
    }
  }

  StreamPlan plan(uint32_t berths) const {
    return plan_stream(target_.target(), described(1, 1).facts,
                       {.rows = 512, .memory = 0, .kept = 0, .berths = berths});
  }
  double seconds(const MeasuredAccelerator& gpu, uint32_t berths, uint32_t rows,
                 const TimedOptions& options = {}) const {
    return PassClock(target_.target(), gpu, plan(berths), options).seconds(rows);
  }

  // Returns the bytes of a page in all layers.
  double page_bytes() const { return static_cast<double>(target_.target().kv->page_bytes(0)); }

  TestModel model_;
  DescribedTarget target_;
  double bytes_ = 0;  // of all layers
  double adds_ = 0;   // multiply-adds of a row in all layers but the last
};

TEST_F(PassTimeTest, ALinkThatIsSlowTakesTheTime) {
  const double alone = bytes_ / 1e6;
  EXPECT_NEAR(seconds(described(1e6, kFast), 2, 64), alone, alone * 0.01);
  // Other work takes half of the host's memory bandwidth, and the host also writes each layer's
  // page to memory.
  const TimedOptions busy{.host_bytes_per_second = 1e6, .host_taken = 5e5};
  const double all = (bytes_ + page_bytes()) / 5e5;
  EXPECT_NEAR(seconds(described(1e6, kFast), 2, 64, busy), all, all * 0.01);
}

TEST_F(PassTimeTest, ProductsThatAreSlowTakeTheTime) {
  const double rate = 1e9, alone = adds_ * 512 / rate;
  const double seconds_taken = seconds(described(kFast, rate), 2, 512);
  // The keys and values of the last layer are added.
  EXPECT_GT(seconds_taken, alone);
  EXPECT_LT(seconds_taken, alone * kLayers / (kLayers - 1));
}

TEST_F(PassTimeTest, BerthsLetCopiesRunAhead) {
  // A layer takes as long to copy as to compute.
  const double layer = 1e-3;
  const MeasuredAccelerator gpu =
      described(bytes_ / kLayers / layer, adds_ * 256 / ((kLayers - 1) * layer));
  const double one = seconds(gpu, 1, 256), two = seconds(gpu, 2, 256);
  const double many = seconds(gpu, kLayers, 256);
  EXPECT_NEAR(one, (2 * kLayers - 1) * layer, layer * 0.5);
  EXPECT_NEAR(two, kLayers * layer, layer * 0.5);
  EXPECT_LE(many, two + 1e-12);
}

TEST_F(PassTimeTest, ClockAndTableAgree) {
  const MeasuredAccelerator gpu = described(1e7, 1e9);
  PassClock clock(target_.target(), gpu, plan(2));
  const PassFigures first = clock.figures(100, 64), again = clock.figures(100, 64);
  EXPECT_NEAR(first.seconds, again.seconds, first.seconds * 1e-9);
  EXPECT_EQ(first.bytes_in, again.bytes_in);
  EXPECT_GE(static_cast<double>(first.bytes_in), bytes_ * 0.99);
  // The pass also copies in the page of earlier tokens.
  EXPECT_NEAR(first.copying_seconds, (bytes_ + page_bytes()) / 1e7, first.seconds * 0.01);
  // A table made with this clock has the clock's times, and interpolates between them.
  const PassTime table(target_.target(), gpu, plan(2));
  EXPECT_NEAR(table.seconds(128), clock.seconds(128), 1e-9);
  EXPECT_NEAR(table.seconds(512), clock.seconds(512), 1e-9);
  EXPECT_NEAR(table.seconds(192), (clock.seconds(128) + clock.seconds(256)) / 2, 1e-9);
  EXPECT_TRUE(std::isinf(table.seconds(513)));
}

TEST_F(PassTimeTest, TokensBeforeTakeTheirTime) {
  const double link = 1e5;
  const PassTime slow_link(target_.target(), described(link, kFast), plan(2));
  EXPECT_EQ(slow_link.prefix_seconds(64, 0), 0);
  const double page = page_bytes() / link;
  for (const uint32_t pages : {1U, 4U, 20U}) {
    EXPECT_NEAR(slow_link.prefix_seconds(64, pages * 64), pages * page, pages * page * 0.01);
  }
  const double token = 1e-6;
  const PassTime slow_attention(target_.target(), attending(token), plan(2));
  for (const uint32_t rows : {16U, 128U, 300U}) {
    const double before = rows * 1000 * token * (kLayers - 1);
    EXPECT_NEAR(slow_attention.prefix_seconds(rows, 1000), before, before * 0.01) << rows;
  }
}

TEST_F(PassTimeTest, ALayerThatTakesTooLongBehindOthersNeverEnds) {
  const PassTime table(target_.target(), attending(0.5e-3), plan(2));
  EXPECT_NEAR(table.prefix_seconds(16, 1000), 8 * (kLayers - 1), 1);
  EXPECT_NEAR(table.prefix_seconds(16, 2000), 16 * (kLayers - 1), 2);
  EXPECT_TRUE(std::isinf(table.prefix_seconds(64, 1000)));
}

TEST_F(PassTimeTest, ALayerThatTakesTooLongNeverEnds) {
  // A layer of 64 rows takes 15 s, one of 128 rows 30.
  const MeasuredAccelerator gpu = described(kFast, adds_ * 64 / ((kLayers - 1) * 15));
  const PassTime table(target_.target(), gpu, plan(2));
  EXPECT_NEAR(table.seconds(64), 15 * (kLayers - 1), 15);
  EXPECT_TRUE(std::isinf(table.seconds(128)));
}

void expect_lists_of_a_loaded_model(const std::vector<std::byte>& file) {
  const ModelSource source = parse_gguf(file, "tiny");
  const ModelSpec spec = make_spec(source);
  const MeasuredAccelerator gpu = described(1e7, 1e9);
  for (const uint32_t shards : {1U, 2U}) {
    const Machine machine = Machine::invented(shards, 1);
    EngineOptions options;
    options.threads = options.shards = shards;
    options.context = kContext;
    options.sequences = 1;
    options.kv_type = KvType::kF16;
    const Engine engine(source, spec, machine, Isa::kReference, options);
    const PassTarget loaded = engine.pass_target();
    const StreamPlan plan = plan_stream(loaded, gpu.facts, {.rows = 512, .memory = 0, .kept = 1});
    const DescribedTarget described(spec, machine, loaded.model->placement(), KvType::kF16,
                                    loaded.context);
    ASSERT_EQ(plan,
              plan_stream(described.target(), gpu.facts, {.rows = 512, .memory = 0, .kept = 1}));
    EXPECT_EQ(PassClock(loaded, gpu, plan).seconds(300),
              PassClock(described.target(), gpu, plan).seconds(300));
  }
}

TEST(PassTime, ListsAreThoseOfALoadedModel) {
  expect_lists_of_a_loaded_model(tiny_llama({.layers = 4, .codes = true}));
  expect_lists_of_a_loaded_model(tiny_deepseek2({.layers = 4, .codes = true}));
}

// Short passes take the time of their copies, long passes that of computing. With a ring of two,
// copies cannot run ahead of attention.
TEST(PassTime, ShortPassesHaveALongerRing) {
  const TestModel model(
      {.architecture = "qwen3moe", .layers = 6, .experts = {.count = 32, .chosen = 4, .ffn = 256}});
  const DescribedTarget target(model.spec(), Machine::invented(1, 1), {{0}, {1}}, KvType::kF16,
                               kContext);
  MeasuredAccelerator gpu = described(1e7, kFast);
  gpu.rates.kernels = {{"attend pages f16", 64, 64, exactly(1e7)}};
  StreamPlan plan =
      plan_stream(target.target(), gpu.facts, {.rows = 1024, .memory = 0, .kept = 0, .experts = 2});
  ASSERT_TRUE(plan.ring_grows);
  PassClock growing(target.target(), gpu, plan);
  plan.ring_grows = false;
  PassClock fixed(target.target(), gpu, plan);
  for (const uint32_t rows : {128u, 256u, 512u}) {
    EXPECT_LT(growing.seconds(rows), 0.95 * fixed.seconds(rows)) << rows;
  }
  EXPECT_NEAR(growing.seconds(1024), fixed.seconds(1024), 1e-9);
  EXPECT_LT(growing.seconds(128), 0.95 * fixed.seconds(128)) << "behind a long pass";
}

// Each pass copies all layers. So longer passes, and fewer of them, save copies in long prompts.
TEST(PassTime, PassesThatWaitForCopiesHaveMoreRows) {
  constexpr uint32_t kLong = 4 * kUsualPassRows;
  const TestModel model(
      {.architecture = "qwen3moe", .layers = 4, .experts = {.count = 8, .chosen = 2, .ffn = 128}});
  const DescribedTarget target(model.spec(), Machine::invented(1, 1), {{0}, {1}}, KvType::kF16,
                               kLong);
  const auto rows = [&](double multiply_adds, uint32_t asked) {
    MeasuredAccelerator gpu = described(1e6, multiply_adds);
    gpu.rates.import_from = TransferRate{1, exactly(kFast)};
    const StreamPlanOptions options{.rows = asked, .memory = 0, .kept = 0};
    return plan_stream_by_time(target.target(), gpu, options).rows;
  };
  EXPECT_EQ(rows(kFast, 0), kLong);
  EXPECT_EQ(rows(kFast, kUsualPassRows), kUsualPassRows) << "asked for";
  EXPECT_EQ(rows(1e8, 0), kUsualPassRows) << "products bound the passes";
}

// The time of a pass grows smoothly with its rows, although it computes only some heads at a time.
TEST(PassTime, PassesOverLatentsTakeTheMemoryThatIsPlanned) {
  const TestModel model(latent_source({.layers = 2}));
  const DescribedTarget target(model.spec(), Machine::invented(2, 1), {{0, 1}, {1, 1}},
                               KvType::kF16, kContext);
  for (const uint32_t rows : {64u, 640u, 2048u}) {
    const MeasuredAccelerator gpu = described(1, 1);
    const StreamPlan plan =
        plan_stream(target.target(), gpu.facts, {.rows = rows, .memory = 0, .kept = 0});
    const auto accelerator = std::make_shared<TimedAccelerator>(gpu, TimedOptions{});
    const uint64_t before = accelerator->facts().free_bytes;
    const PrefillPass pass(target.target(), accelerator, plan);
    const uint64_t taken = before - accelerator->facts().free_bytes;
    EXPECT_LE(taken, plan.bytes()) << rows;
    EXPECT_GE(taken, plan.bytes() / 100 * 98) << rows;
  }
}

// Passes over texts of a model with latents.
class LatentPassTime : public testing::Test {
 protected:
  LatentPassTime()
      : model_(latent_source({.layers = 2})),
        target_(model_.spec(), Machine::invented(1, 1), {{0}, {1}}, KvType::kF16, kContext) {}

  // Returns the seconds for `texts` texts of `rows` rows if only these rates take time.
  double computing(const AcceleratorRates& rates, uint32_t texts, uint32_t rows,
                   uint32_t expanded) const {
    MeasuredAccelerator gpu = described(kFast, kFast);
    gpu.rates.command_nanoseconds = rates.command_nanoseconds;
    gpu.rates.kernels = rates.kernels;
    const StreamPlan plan =
        plan_stream(target_.target(), gpu.facts, {.rows = 2048, .memory = 0, .kept = 0});
    PassTarget timed = target_.target();
    timed.only_timed = true;
    const auto accelerator = std::make_shared<TimedAccelerator>(gpu, TimedOptions{});
    PrefillPass pass(timed, accelerator, plan);
    const std::vector<int32_t> tokens(rows, 0);
    const std::vector<uint32_t> pages(pages_for(rows), 0);
    const std::vector<PassText> all(texts, PassText{tokens, 0, pages, {}, expanded});
    AllWanted watch;
    pass.run(all, watch);
    return accelerator->computing_seconds();
  }

  TestModel model_;
  DescribedTarget target_;
};

TEST_F(LatentPassTime, ShortTextsTakeTheCommandsOfOne) {
  AcceleratorRates by_command;
  by_command.command_nanoseconds = spread_of({1e6});
  const double one = computing(by_command, 1, 128, 0);
  EXPECT_GT(one, 0.01);
  EXPECT_NEAR(computing(by_command, 32, 4, 0), one, one * 1e-3);
}

TEST_F(LatentPassTime, MatricesOfHeadsAreReadBackOnceForAllTexts) {
  AcceleratorRates by_table;
  by_table.kernels = {{"table f32", 64, 64, spread_of({1e5})}};
  const double one = computing(by_table, 1, 128, 128);
  EXPECT_GT(one, 0.01);
  EXPECT_NEAR(computing(by_table, 8, 16, 16), one, one * 1e-3);
}

TEST_F(PassTimeTest, NamesWhatAPassComputes) {
  const PassKernels kernels = pass_kernels(target_.target());
  EXPECT_EQ(kernels.kinds, std::vector<PackKind>{PackKind::kQ8_0});
  for (const char* contract : {"rms norm", "quantize q8", "rope interleaved", "silu",
                               "kv store f16", "attend pages f16"}) {
    EXPECT_EQ(std::ranges::count(kernels.contracts, contract), 1) << contract;
  }
}

TEST(DescribedTarget, ModelsThatCannotBeStreamedAreRefused) {
  const TestModel encoder(encoder_source({}));
  EXPECT_THROW(
      DescribedTarget(encoder.spec(), Machine::invented(1, 1), {{0}, {1}}, KvType::kF16, kContext),
      Error);
}

}  // namespace
}  // namespace hearth
