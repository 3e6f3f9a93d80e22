// Tests of a GPU as a device, with the virtual accelerator in its place. It gives the bits of the
// cores. If it is lost, at whichever call, no text is lost with it.
#include "embed/gpu_device.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "accelerator/virtual/virtual_accelerator.h"
#include "base/error.h"
#include "embed/queue_manager.h"
#include "formats/gguf.h"
#include "hybrid/encoder_pass.h"
#include "hybrid/require_right.h"
#include "tiny_engine.h"

namespace hearth {
namespace {

// An accelerator that is lost at its `last`th call and stays lost; 0: never.
class LostAccelerator : public VirtualAccelerator {
 public:
  explicit LostAccelerator(int last) : VirtualAccelerator(VirtualOptions{}), last_(last) {}

  Buffer allocate(uint64_t bytes) override {
    count();
    return VirtualAccelerator::allocate(bytes);
  }
  void write(Place to, std::span<const std::byte> bytes) override {
    count();
    VirtualAccelerator::write(to, bytes);
  }
  void read(Place from, std::span<std::byte> bytes) override {
    count();
    VirtualAccelerator::read(from, bytes);
  }
  void wait(Moment moment, double seconds) override {
    count();
    VirtualAccelerator::wait(moment, seconds);
  }
  void submit(const CommandList& list) override {
    count();
    VirtualAccelerator::submit(list);
  }
  int calls() const { return calls_; }

 private:
  void count() {
    ++calls_;
    if (last_ != 0 && calls_ >= last_) fail(ErrorCode::kResource, "the device is lost");
  }

  const int last_;
  std::atomic<int> calls_ = 0;
};

class GpuDeviceTest : public testing::Test {
 protected:
  GpuDeviceTest()
      : file_(parse_gguf(tiny_bert({.heads = 4, .ffn = 128}), "tiny")),
        spec_(make_spec(file_)),
        machine_(Machine::invented(1, 1)) {
    std::mt19937 random(1);
    for (size_t i = 0; i < 12; ++i) {
      queries_.push_back({"", random_tokens(random, 1 + random() % 60, 80)});
    }
  }

  EngineOptions options() const {
    EngineOptions options;
    options.threads = 1;
    options.context = options.prefill_rows = 128;
    return embed_engine_options(spec_, PoolingType::kMean, options);
  }
  Isa isa() const { return available_isas(detect_cpu_features()).back(); }
  std::unique_ptr<CpuPool> pool() const {
    return std::make_unique<CpuPool>(
        "cpu",
        [this] { return std::make_unique<Engine>(file_, spec_, machine_, isa(), options()); },
        EmbedOptions{});
  }
  // The host keeps no weights.
  std::unique_ptr<GpuDevice> gpu(std::shared_ptr<Accelerator> accelerator) const {
    const std::shared_ptr<Model> model = load();
    auto device = std::make_unique<GpuDevice>("gpu", std::move(accelerator), model, options(),
                                              EmbedOptions{});
    model->release_weights();
    return device;
  }
  std::shared_ptr<Model> load() const {
    return load_model(file_, spec_, machine_, isa(), options());
  }
  std::vector<EmbedVector> run(EngineDevice& device) const {
    std::vector<const EmbedQuery*> batch;
    for (const EmbedQuery& query : queries_) batch.push_back(&query);
    return device.run(batch);
  }

  ModelSource file_;
  ModelSpec spec_;
  Machine machine_;
  std::vector<EmbedQuery> queries_;
};

TEST_F(GpuDeviceTest, GivesTheBitsOfTheCores) {
  const std::unique_ptr<GpuDevice> device = gpu(std::make_shared<LostAccelerator>(0));
  EXPECT_EQ(device->kind(), DeviceKind::kAccelerator);
  EXPECT_TRUE(device->remote());
  EXPECT_EQ(run(*device), run(*pool()));
}

// The bound is 2 (128 + 3) 2^-24, for the feed-forward layer's columns.
TEST_F(GpuDeviceTest, SaysHowFarBf16SumsAreApart) {
  EXPECT_EQ(bits_beside_cores(spec_, Isa::kAvx512Bf16), "");
  for (WeightSpec& weight : spec_.weights) {
    if (weight.is_matrix()) weight.packed.kind = PackKind::kBF16;
  }
  EXPECT_EQ(bits_beside_cores(spec_, Isa::kAvx2), "");
  const std::string text = bits_beside_cores(spec_, Isa::kAvx512Bf16);
  EXPECT_NE(text.find("at most 1.6e-05 times the sum"), std::string::npos) << text;
}

// The faulty text is refused, and the device still works.
TEST_F(GpuDeviceTest, RefusesATextAsCoresDo) {
  const std::unique_ptr<GpuDevice> device = gpu(std::make_shared<LostAccelerator>(0));
  const EmbedQuery empty;
  const EmbedQuery* batch[] = {&empty};
  EXPECT_THROW(device->run(batch), Error);
  EXPECT_EQ(run(*device).size(), queries_.size());
}

// The GPU takes the memory of its largest step before it gets a text.
TEST_F(GpuDeviceTest, IsRefusedWhereTheLargestStepHasNoMemory) {
  constexpr uint64_t kWeights = 450'000;  // more than the tiny model's
  EXPECT_THROW(gpu(std::make_shared<VirtualAccelerator>(VirtualOptions{.memory_bytes = kWeights})),
               Error);
  const auto roomy = std::make_shared<VirtualAccelerator>(VirtualOptions{});
  EXPECT_NO_THROW(AcceleratorWeights(
      *load(), *std::make_shared<VirtualAccelerator>(VirtualOptions{.memory_bytes = kWeights})));
  EXPECT_EQ(run(*gpu(roomy)).size(), queries_.size());
}

TEST_F(GpuDeviceTest, LosesNoTextWithTheAccelerator) {
  const std::vector<EmbedVector> expected = run(*pool());
  int loading = 0, lost = 0;
  // The first calls check that the device computes correctly; faults come after them.
  LostAccelerator checked(0);
  require_right(checked, spec_);
  for (int last = checked.calls() + 1;; ++last) {
    const auto accelerator = std::make_shared<LostAccelerator>(last);
    std::vector<DeviceQueue> queues(2);
    try {
      queues[0] = {gpu(accelerator), {}, 64, 64};
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kResource);
      ++loading;
      continue;
    }
    queues[1] = {pool(), {}, 1000, 128};
    SteadyClock clock;
    DispatchOptions by_depth;
    by_depth.admission = Admission::kDepth;
    std::vector<std::promise<EmbedOutcome>> outcomes(queries_.size());
    QueueManager manager(std::move(queues), by_depth, clock, queries_[0]);
    for (size_t i = 0; i < queries_.size(); ++i) {
      // Setting a promise twice would throw.
      const auto keep = [&, i](EmbedOutcome outcome) { outcomes[i].set_value(std::move(outcome)); };
      ASSERT_TRUE(manager.submit_waiting(queries_[i], keep));
    }
    for (size_t i = 0; i < queries_.size(); ++i) {
      const EmbedOutcome outcome = outcomes[i].get_future().get();
      ASSERT_FALSE(outcome.error) << outcome.error->what();
      EXPECT_EQ(outcome.vector, expected[i]);
    }
    if (accelerator->calls() < last) break;  // it was lost at no call
    ++lost;
    EXPECT_FALSE(manager.statistics()[0].up);
  }
  EXPECT_GT(loading, 10);
  // The first batch goes to the GPU in four calls: write, submit, wait, read.
  EXPECT_GE(lost, 4);
}

}  // namespace
}  // namespace hearth
