// Tests of the memory that passes over prompts allocate. On an accelerator, passes that are made
// allocate none, however many tensors go through their berths (OSDI'26, "hybrid MoE", 3.1, has 44.5
// thousand allocations a pass). On the host, each pass allocates only its lists, no more than the
// pass before, and nothing for a copy.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "fast_gpu.h"
#include "hybrid/described_target.h"
#include "hybrid/prefill_pass.h"
#include "models/test_source.h"
#include "replaced_new.h"

namespace hearth {
namespace {

// The number of allocations of one thread.
struct Allocations {
  mutable std::atomic<std::thread::id> thread{};
  mutable std::atomic<uint64_t> count{0};
};

const Allocations& allocations() {
  static const Allocations kAllocations;
  return kAllocations;
}

}  // namespace

bool may_allocate() {
  const Allocations& of = allocations();
  if (of.thread.load() == std::this_thread::get_id()) ++of.count;
  return true;
}

namespace {

// An accelerator that computes nothing, reports all work as done at once, and allocates nothing on
// the host. It counts buffers, timelines and lists of copies.
class IdleAccelerator : public Accelerator {
 public:
  const AcceleratorFacts& facts() const override { return facts_; }
  Buffer allocate(uint64_t bytes) override {
    ++kept_;
    return {*this, next_++, bytes};
  }
  Buffer import(std::span<std::byte> memory) override { return allocate(memory.size()); }
  void write(Place, std::span<const std::byte>) override {}
  void read(Place, std::span<std::byte>) override {}
  TimelineId make_timeline() override {
    ++kept_;
    return 0;
  }
  uint64_t reached(TimelineId) override { return UINT64_MAX; }
  void signal(Moment) override {}
  void wait(Moment, double) override {}
  std::string why_not(const KernelCall&) override { return ""; }
  void submit(const CommandList& list) override { copied_ += is_load(list) ? 1 : 0; }

  uint32_t kept() const { return kept_; }      // number of buffers and timelines
  uint32_t copied() const { return copied_; }  // number of lists that copy weights

 protected:
  void free(BufferId) noexcept override { ++kept_; }

 private:
  static bool is_load(const CommandList& list) { return list.commands[0].queue == 1; }

  const AcceleratorFacts facts_ = fast_gpu().facts;
  BufferId next_ = 0;
  uint32_t kept_ = 0, copied_ = 0;
};

struct Counted {
  uint32_t of_accelerator = 0;    // in all passes together
  uint64_t third = 0, tenth = 0;  // of the host, in the third and the tenth pass
  uint32_t loads = 0;             // of one pass
};

Counted counted_passes(const DescribedTarget& target, const StreamPlan& plan) {
  constexpr uint32_t kPasses = 10;
  const auto gpu = std::make_shared<IdleAccelerator>();
  PrefillPass pass(target.target(), gpu, plan);
  const std::vector<int32_t> tokens(100, 0);
  const std::vector<uint32_t> pages = {0, 1};
  const PassText text{tokens, 0, pages, {}, 50};
  AllWanted watch;
  const uint32_t kept = gpu->kept();
  std::vector<uint64_t> of_host;
  const Allocations& host = allocations();
  of_host.reserve(kPasses);
  host.thread = std::this_thread::get_id();
  for (uint32_t i = 0; i < kPasses; ++i) {
    const uint64_t before = host.count;
    pass.run({&text, 1}, watch);
    of_host.push_back(host.count - before);
  }
  host.thread = std::thread::id();
  return {gpu->kept() - kept, of_host[2], of_host.back(), gpu->copied() / kPasses};
}

TEST(PassAllocations, TensorsThatAreCopiedTakeNone) {
  constexpr uint32_t kDeep = 5;
  const ModelExperts experts{.count = 64, .chosen = 4};
  for (const ModelShape& shape :
       {ModelShape{.architecture = "qwen3moe", .layers = kDeep, .experts = experts},
        ModelShape{.architecture = "deepseek2", .layers = kDeep},
        ModelShape{.architecture = "deepseek2", .layers = kDeep, .experts = experts}}) {
    SCOPED_TRACE(testing::Message()
                 << shape.architecture << ", " << shape.experts.count << " experts");
    const TestModel model(shape);
    const DescribedTarget target(model.spec(), Machine::invented(1, 1), {{0}, {1}}, KvType::kF16,
                                 256);
    StreamPlan plan{.rows = 128, .pages = 8, .berths = 3, .experts = 64, .expert_batch = 1};
    plan.kept_batch = 1;
    plan.ring_grows = true;
    const Counted streamed = counted_passes(target, plan);
    plan.kept = kDeep;
    const Counted kept = counted_passes(target, plan);
    EXPECT_EQ(streamed.of_accelerator, 0u);
    EXPECT_EQ(streamed.tenth, streamed.third);
    EXPECT_EQ(streamed.loads, kDeep + (kDeep - 1) * shape.experts.count);
    // A list that uses copied weights has an allocation for the moment that it waits for.
    EXPECT_LE(streamed.tenth, kept.tenth + streamed.loads + 8);
  }
}

}  // namespace
}  // namespace hearth
