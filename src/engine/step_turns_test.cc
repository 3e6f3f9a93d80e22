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
      StepTurns::Place place(&turns);
      for (int step = 0; step < kSteps; ++step) {
        place.begin_step();
        most = std::max<int>(most, ++inside);
        ++steps;
        --inside;
        place.end_turn();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
  EXPECT_EQ(steps, kThreads * kSteps);
}

TEST(StepTurns, TurnsComeInTheOrderOfAsking) {
  StepTurns turns;
  std::vector<int> order;
  std::vector<std::thread> threads;
  {
    StepTurns::Place place(&turns);
    place.begin_step();
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&, i] {
        StepTurns::Place own(&turns);
        own.begin_step();
        order.push_back(i);
      });
      while (turns.waiting() < static_cast<size_t>(i) + 1) std::this_thread::yield();
    }
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(order, (std::vector{0, 1, 2}));
}

// Short steps share a turn, and a used-up turn ends with its step.
TEST(StepTurns, ShortStepsShareATurn) {
  StepTurns turns;
  StepTurns::Place place(&turns);
  int steps = 0;
  // If other programs delay the machine, a turn's first step may use it up. Then another turn
  // follows.
  for (int turn = 0; turn < 100 && steps < 2; ++turn) {
    const double asked = steady_seconds();
    EXPECT_TRUE(place.begin_step().has_value());
    steps = 0;
    for (bool same = true; same; ++steps) {
      place.end_step();
      same = !place.begin_step().has_value();
      EXPECT_TRUE(same || steady_seconds() - asked >= StepTurns::kTurnSeconds);
    }
    place.end_turn();
  }
  EXPECT_GT(steps, 1);
  EXPECT_TRUE(place.begin_step().has_value()) << "who was idle asks anew";
}

TEST(StepTurns, NeedsNoTurnWithoutOtherEngines) {
  StepTurns::Place place(nullptr);
  EXPECT_FALSE(place.begin_step().has_value());
  place.end_step();
}

}  // namespace
}  // namespace hearth
