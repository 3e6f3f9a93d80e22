#include "accelerator/virtual/timed_accelerator.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace hearth {
namespace {

// Describes an accelerator. In a second it moves 100 bytes in, 50 bytes out and 1000 bytes within
// its memory, and norms 10 floats.
MeasuredAccelerator described(uint32_t queues) {
  const auto exactly = [](double value) { return Spread{value, value, value}; };
  MeasuredAccelerator made;
  made.facts = {.name = "a GPU",
                .driver = "",
                .api = "",
                .memory_bytes = 4000,
                .free_bytes = 3000,
                .allocation_bytes = 2000,
                .import_alignment = 4096,
                .queues = {{.computes = true}},
                .arithmetic = "",
                .lacks = {}};
  if (queues == 2) made.facts.queues.push_back({.computes = false});
  made.rates.write = {1, exactly(200)};
  made.rates.read = {1, exactly(400)};
  made.rates.import_to = TransferRate{1, exactly(100)};
  made.rates.import_from = TransferRate{1, exactly(50)};
  made.rates.memory = {1, exactly(1000)};
  made.rates.submission_nanoseconds = exactly(1);
  made.rates.kernels = {{"rms norm", 64, 64, exactly(10)}};
  return made;
}

constexpr double kNear = 1e-6;

class Timed {
 public:
  explicit Timed(uint32_t queues, const TimedOptions& options = {})
      : gpu(described(queues), options),
        own(gpu.allocate(2000)),
        host(gpu.import({bytes.data(), bytes.size()})),
        timeline(gpu.make_timeline()) {}

  Command copy_in(uint64_t count) const {
    return {.queue = static_cast<uint32_t>(gpu.facts().queues.size() - 1),
            .work = CopyBytes{host.at(), own.at(), count}};
  }
  Command copy_out(uint64_t count) const { return {.work = CopyBytes{own.at(), host.at(), count}}; }
  Command norm(uint32_t rows) const {
    const FloatRows x{own.at(), 10};
    return {.work = NormCall{.x = x, .rows = rows, .n = 10, .eps = 1e-5F, .out = x}};
  }
  // Returns the seconds that the list takes.
  double takes(CommandList list, uint64_t value) {
    list.commands.back().signals.push_back({timeline, value});
    const double begin = gpu.now();
    gpu.submit(list);
    gpu.wait({timeline, value}, 1000);
    return gpu.now() - begin;
  }

  std::vector<std::byte> bytes = std::vector<std::byte>(4096);
  TimedAccelerator gpu;
  Buffer own, host;
  TimelineId timeline;
};

TEST(TimedAccelerator, CommandsTakeWhatTheRatesSay) {
  Timed timed(2);
  EXPECT_NEAR(timed.takes({{timed.norm(3)}}, 1), 3, kNear);
  EXPECT_NEAR(timed.takes({{timed.copy_in(200)}}, 2), 2, kNear);
  EXPECT_NEAR(timed.takes({{timed.copy_out(200)}}, 3), 4, kNear);
  const Command within{.work = CopyBytes{timed.own.at(), timed.own.at(500), 500}};
  EXPECT_NEAR(timed.takes({{within}}, 4), 1, kNear);
  const double begin = timed.gpu.now();
  timed.gpu.write(timed.own.at(), std::vector<std::byte>(100));
  EXPECT_NEAR(timed.gpu.now() - begin, 0.5, kNear);
  EXPECT_EQ(timed.gpu.bytes_in(), 300u);
  EXPECT_EQ(timed.gpu.bytes_out(), 200u);
}

TEST(TimedAccelerator, ConcurrentCommandsShareTheRates) {
  Timed timed(2);
  Command beside = timed.norm(1);
  beside.ordered = false;
  EXPECT_NEAR(timed.takes({{timed.norm(3), beside}}, 1), 4, kNear);
  // The link's two directions and the kernels do not slow each other down.
  Command out = timed.copy_out(100);
  out.ordered = false;
  EXPECT_NEAR(timed.takes({{timed.copy_in(200), timed.norm(2), out}}, 2), 2, kNear);
}

TEST(TimedAccelerator, OneQueueTakesTurns) {
  Timed timed(1);
  Command beside = timed.norm(1);
  beside.ordered = false;
  EXPECT_NEAR(timed.takes({{timed.copy_in(200), beside}}, 1), 3, kNear);
}

TEST(TimedAccelerator, CopiesShareTheHostsMemory) {
  Timed timed(2, {.host_bytes_per_second = 80, .host_taken = 40});
  EXPECT_NEAR(timed.takes({{timed.copy_in(200)}}, 1), 5, kNear);
  EXPECT_NEAR(timed.takes({{timed.norm(2)}}, 2), 2, kNear);
}

TEST(TimedAccelerator, QueuesWaitForMoments) {
  Timed timed(2);
  const TimelineId loaded = timed.gpu.make_timeline();
  Command load = timed.copy_in(100), use = timed.norm(1), more = timed.copy_in(100);
  load.signals = {{loaded, 1}};
  use.waits = {{loaded, 1}};
  use.signals = {{timed.timeline, 1}};
  more.waits = {{timed.timeline, 1}};
  // The commands take a second each, one after the other, in whatever order they were submitted.
  timed.gpu.submit({{use}});
  timed.gpu.submit({{load}});
  EXPECT_NEAR(timed.takes({{more}}, 2), 3, kNear);
}

TEST(TimedAccelerator, NothingBeginsBeforeItIsSubmitted) {
  Timed timed(2);
  timed.gpu.write(timed.own.at(), std::vector<std::byte>(1000));  // 5 s
  EXPECT_NEAR(timed.gpu.now(), 5, kNear);
  EXPECT_NEAR(timed.takes({{timed.norm(1)}}, 1), 1, kNear);
  // The queues keep working while the host writes.
  timed.gpu.submit({{timed.norm(3)}});
  timed.gpu.write(timed.own.at(), std::vector<std::byte>(400));  // 2 s
  EXPECT_NEAR(timed.takes({{timed.norm(1)}}, 2), 2, kNear);
  EXPECT_NEAR(timed.gpu.computing_seconds(), 5, kNear);
}

TEST(TimedAccelerator, RefusesMissingMemoryAndMoments) {
  Timed timed(2);
  EXPECT_THROW(timed.gpu.allocate(2001), Error);  // longer than a buffer may be
  EXPECT_THROW(timed.gpu.allocate(1001), Error);  // more than all memory
  EXPECT_EQ(timed.gpu.allocate(1000).bytes(), 1000u);
  EXPECT_THROW(timed.gpu.submit({{timed.copy_in(2001)}}), Error);
  EXPECT_THROW(timed.gpu.wait({7, 1}, 1), Error);
  timed.gpu.submit({{timed.norm(3)}});
  EXPECT_THROW(timed.gpu.wait({timed.timeline, 1}, 2), Error);
  EXPECT_NEAR(timed.gpu.now(), 2, kNear);
  EXPECT_THROW(timed.gpu.reached(timed.timeline), Error);  // the accelerator is lost
}

}  // namespace
}  // namespace hearth
