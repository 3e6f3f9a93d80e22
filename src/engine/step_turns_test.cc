#include "engine/step_turns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace hearth {
namespace {

TEST(StepTurns, OneAtATime) {
  constexpr int kThreads = 4, kSteps = 500;
  StepTurns turns;
  std::atomic<int> inside = 0, most = 0, steps = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int step = 0; step < kSteps; ++step) {
        const StepTurns::Turn turn(&turns);
        most = std::max<int>(most, ++inside);
        ++steps;
        --inside;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
  EXPECT_EQ(steps, kThreads * kSteps);
}

TEST(StepTurns, WhoAskedFirstIsFirst) {
  StepTurns turns;
  std::vector<int> order;
  std::vector<std::thread> threads;
  {
    const StepTurns::Turn turn(&turns);
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&, i] {
        const StepTurns::Turn own(&turns);
        order.push_back(i);
      });
      while (turns.waiting() < static_cast<uint64_t>(i) + 1) std::this_thread::yield();
    }
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(order, (std::vector{0, 1, 2}));
}

TEST(StepTurns, NobodyToShareWith) { const StepTurns::Turn turn(nullptr); }

}  // namespace
}  // namespace hearth
