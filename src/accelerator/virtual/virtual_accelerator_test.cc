#include "accelerator/virtual/virtual_accelerator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>

#include "base/error.h"

namespace hearth {
namespace {

using Floats = std::vector<float>;

Floats floats_at(Accelerator& gpu, const Place& at, size_t count) {
  Floats values(count);
  gpu.read(at, std::as_writable_bytes(std::span(values)));
  return values;
}
void put_floats(Accelerator& gpu, const Place& at, const Floats& values) {
  gpu.write(at, std::as_bytes(std::span(values)));
}
Command float_copy(const Place& from, const Place& to) { return {.work = CopyBytes{from, to, 4}}; }

void expect_error(ErrorCode code, const char* text, const std::function<void()>& call) {
  try {
    call();
    ADD_FAILURE() << "nothing thrown: " << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
  }
}

TEST(VirtualAccelerator, ReportsItsFacts) {
  VirtualAccelerator gpu({.queues = 2, .memory_bytes = 1000});
  EXPECT_EQ(gpu.facts().memory_bytes, 1000u);
  ASSERT_EQ(gpu.facts().queues.size(), 2u);
  EXPECT_TRUE(gpu.facts().queues[0].computes);
  EXPECT_FALSE(gpu.facts().queues[1].computes);
  VirtualAccelerator both({.queues = 2, .second_computes = true});
  EXPECT_TRUE(both.facts().queues[1].computes);
}

TEST(VirtualAccelerator, MemoryIsLimitedAndPoisoned) {
  VirtualAccelerator gpu({.memory_bytes = 1000});
  Buffer a = gpu.allocate(600);
  EXPECT_EQ(gpu.facts().free_bytes, 400u);
  for (float x : floats_at(gpu, a.at(), 150)) EXPECT_TRUE(std::isnan(x));
  expect_error(ErrorCode::kResource, "400 B free", [&] { gpu.allocate(401); });
  put_floats(gpu, a.at(), Floats(150, 1.0f));
  a = {};
  EXPECT_EQ(gpu.facts().free_bytes, 1000u);
  Buffer b = gpu.allocate(1000);
  EXPECT_EQ(b.id(), 1u);
  for (float x : floats_at(gpu, b.at(), 250)) EXPECT_TRUE(std::isnan(x));
}

TEST(VirtualAccelerator, RefusesMissingBuffersQueuesAndTimelines) {
  VirtualAccelerator gpu({.queues = 2});
  Buffer a = gpu.allocate(64), gone = gpu.allocate(64);
  const Place freed = gone.at();
  gone = {};
  auto refused = [&](const Command& command, const char* text) {
    expect_error(ErrorCode::kRequest, text, [&] { gpu.submit({{command}}); });
  };
  refused(float_copy(a.at(), freed), "buffer 1 was never made, or was freed");
  refused(float_copy(a.at(), a.at(61)), "byte 64 of buffer 0");
  refused(float_copy(a.at(), a.at()), "overlaps itself");
  refused({.queue = 2, .work = CopyBytes{a.at(), a.at(4), 4}}, "no queue 2");
  refused({.waits = {{0, 1}}, .work = CopyBytes{a.at(), a.at(4), 4}}, "no timeline 0");
  const AddCall add = {.a = {a.at()}, .b = {a.at()}, .rows = 1, .n = 4, .out = {a.at()}};
  refused({.queue = 1, .work = add}, "queue 1 only copies");
  EXPECT_EQ(gpu.why_not(add), "");
  EXPECT_NE(gpu.why_not(AddCall{}), "");
  expect_error(ErrorCode::kRequest, "was freed", [&] { floats_at(gpu, freed, 1); });
  expect_error(ErrorCode::kRequest, "byte 67", [&] { put_floats(gpu, a.at(64), {1}); });
  expect_error(ErrorCode::kRequest, "no timeline", [&] { gpu.reached(0); });
}

TEST(VirtualAccelerator, NoBufferIsLongerThanOneMayBe) {
  VirtualAccelerator gpu({.memory_bytes = 1000, .allocation_bytes = 300});
  EXPECT_EQ(gpu.facts().allocation_bytes, 300u);
  expect_error(ErrorCode::kResource, "300 B in one piece", [&] { gpu.allocate(301); });
  const Buffer a = gpu.allocate(300), b = gpu.allocate(300);
  EXPECT_EQ(VirtualAccelerator({.memory_bytes = 1000}).facts().allocation_bytes, 1000u);
}

TEST(VirtualAccelerator, MemoryOfTheProcessIsUsedWhereItLies) {
  struct alignas(4096) Pages {
    std::byte bytes[8192];
  };
  const auto pages = std::make_unique<Pages>();
  const std::span<std::byte> memory(pages->bytes);
  VirtualAccelerator gpu({.memory_bytes = 64});
  const Floats one = {1.5f};
  {
    Buffer shown = gpu.import(memory);
    Buffer a = gpu.allocate(4);
    put_floats(gpu, a.at(), one);
    const TimelineId end = gpu.make_timeline();
    Command copy = float_copy(a.at(), shown.at(4096));
    copy.signals = {{end, 1}};
    gpu.submit({{copy}});
    gpu.wait({end, 1}, 1);
  }
  EXPECT_EQ(std::memcmp(&memory[4096], one.data(), 4), 0);
  expect_error(ErrorCode::kUnsupported, "4096", [&] { gpu.import(memory.subspan(64, 4096)); });
}

// One list waits for a signal that the host gives later, another for a signal of a list that is
// submitted later.
TEST(VirtualAccelerator, ListsWaitForWhatComesLater) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    VirtualAccelerator gpu({.seed = seed, .queues = 2});
    Buffer a = gpu.allocate(64);
    const TimelineId host = gpu.make_timeline(), copied = gpu.make_timeline(),
                     end = gpu.make_timeline();
    Command last = float_copy(a.at(4), a.at(8));
    last.waits = {{copied, 1}};
    last.signals = {{end, 1}};
    gpu.submit({{last}});
    Command first = float_copy(a.at(), a.at(4));
    first.queue = 1;
    first.waits = {{host, 3}};
    first.signals = {{copied, 1}};
    gpu.submit({{first}});
    EXPECT_EQ(gpu.reached(end), 0u);
    put_floats(gpu, a.at(12), {7});
    gpu.signal({host, 2});
    EXPECT_EQ(gpu.reached(copied), 0u);
    expect_error(ErrorCode::kRequest, "cannot be set", [&] { gpu.signal({host, 2}); });
    // The copy has not begun yet, so the host must not write the bytes that the copy will read.
    expect_error(ErrorCode::kRequest, "in progress", [&] { put_floats(gpu, a.at(), {7}); });
    expect_error(ErrorCode::kRequest, "in progress", [&] { floats_at(gpu, a.at(8), 1); });
    gpu.signal({host, 3});
    gpu.wait({end, 1}, 1);
    EXPECT_TRUE(std::isnan(floats_at(gpu, a.at(8), 1)[0]));
    EXPECT_EQ(gpu.reached(copied), 1u);
  }
}

TEST(VirtualAccelerator, IsLostWhereCommandsDeadlock) {
  VirtualAccelerator gpu({});
  Buffer a = gpu.allocate(64);
  const TimelineId never = gpu.make_timeline(), end = gpu.make_timeline();
  Command stuck = float_copy(a.at(), a.at(4)), behind = float_copy(a.at(8), a.at(12));
  stuck.waits = {{never, 1}};
  behind.signals = {{end, 1}};
  gpu.submit({{stuck, behind}});
  expect_error(ErrorCode::kResource, "no task can continue", [&] { gpu.wait({end, 1}, 1e9); });
  expect_error(ErrorCode::kResource, "lost", [&] { gpu.allocate(1); });
  expect_error(ErrorCode::kResource, "lost", [&] { gpu.reached(end); });
}

// Freeing a buffer waits for the commands that work on it.
TEST(VirtualAccelerator, FreeingWaits) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    VirtualAccelerator gpu({.seed = seed});
    Buffer a = gpu.allocate(4), b = gpu.allocate(4);
    put_floats(gpu, a.at(), {2});
    gpu.submit({{float_copy(a.at(), b.at())}});
    a = {};
    EXPECT_EQ(floats_at(gpu, b.at(), 1), Floats{2});
  }
}

// Three copies go to one place. Without an order, each of them is the last one at times; with an
// order, it is always the third. The same seed gives the same result.
TEST(VirtualAccelerator, TakesEveryOrderThatIsLeftOpen) {
  auto last = [](uint64_t seed, bool ordered) {
    VirtualAccelerator gpu({.seed = seed, .queues = 2});
    Buffer a = gpu.allocate(64);
    put_floats(gpu, a.at(), {1, 2, 3});
    const TimelineId done = gpu.make_timeline(), other = gpu.make_timeline();
    CommandList list;
    for (uint64_t i = 0; i < 3; ++i) {
      Command copy = float_copy(a.at(4 * i), a.at(16));
      copy.ordered = ordered;
      copy.queue = i == 1 ? 1 : 0;
      if (ordered && i > 0) copy.waits = {{i == 1 ? done : other, 1}};
      if (i != 1) copy.signals = {{done, i + 1}};
      if (i == 1) copy.signals = {{other, 1}};
      list.commands.push_back(copy);
    }
    gpu.submit(list);
    gpu.wait({done, 3}, 1);
    gpu.wait({other, 1}, 1);
    return floats_at(gpu, a.at(16), 1)[0];
  };
  std::set<float> seen;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    EXPECT_EQ(last(seed, true), 3.0f);
    const float open = last(seed, false);
    EXPECT_EQ(last(seed, false), open);
    seen.insert(open);
  }
  EXPECT_EQ(seen, (std::set<float>{1, 2, 3}));
}

}  // namespace
}  // namespace hearth
