#include "threads/barrier.h"

#include <gtest/gtest.h>

#include <random>
#include <thread>
#include <vector>

namespace hearth {
namespace {

// Starts `count` threads, of which thread `index` runs body(index), and waits for their end.
template <typename Body>
void on_threads(uint32_t count, const Body& body) {
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < count; ++i) threads.emplace_back([&body, i] { body(i); });
  for (std::thread& thread : threads) thread.join();
}

// Does one of these at random: nothing, some work, a yield, a sleep so long that the other threads
// fall asleep, too.
void dawdle(std::mt19937& random) {
  switch (random() % 64) {
    case 0:
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      break;
    case 1:
    case 2:
      std::this_thread::yield();
      break;
    case 3:
    case 4: {
      std::atomic<uint32_t> work{0};
      for (uint32_t i = random() % 4096; i > 0; --i) work.fetch_add(i, std::memory_order_relaxed);
      break;
    }
    default:
      break;
  }
}

// Each thread writes its slot (plain memory) in every round and then reads all others. A thread
// that the barrier lets through early, or a round late, reads a wrong number, and ThreadSanitizer
// sees the race.
void hammer(uint32_t threads, uint32_t rounds) {
  Barrier barrier(threads);
  std::vector<uint64_t> slots(threads, 0);
  std::vector<uint32_t> wrong(threads, 0);
  on_threads(threads, [&](uint32_t index) {
    std::mt19937 random(1000 + index);
    for (uint32_t round = 1; round <= rounds; ++round) {
      dawdle(random);
      slots[index] = round;
      barrier.arrive_and_wait(index);
      for (uint64_t slot : slots) wrong[index] += slot != round;
      barrier.arrive_and_wait(index);
    }
  });
  EXPECT_EQ(wrong, std::vector<uint32_t>(threads, 0));
}

TEST(BarrierTest, OneThreadNeverWaits) {
  Barrier barrier(1);
  for (int i = 0; i < 1000; ++i) barrier.arrive_and_wait(0);
}

TEST(BarrierTest, TwoThreads) { hammer(2, 20000); }

TEST(BarrierTest, MoreThreadsThanCores) { hammer(7, 400); }

TEST(BarrierTest, ManyMoreThreadsThanCores) { hammer(32, 30); }

TEST(BarrierTest, LateThreadFindsTheOthersAsleep) {
  Barrier barrier(3);
  on_threads(3, [&](uint32_t index) {
    for (uint32_t round = 0; round < 12; ++round) {
      // Each thread in turn is late by far more than the others spin.
      if (round % 3 == index) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      barrier.arrive_and_wait(index);
    }
  });
}

// Holds memory for each thread's seat, apart from the others, as if on different nodes.
struct Places {
  explicit Places(uint32_t size) {
    for (uint32_t i = 0; i < size; ++i) {
      blocks.emplace_back(Barrier::seat_bytes(size) / kLineSpacing);
      seats.push_back(blocks.back().data()->bytes);
    }
  }
  struct alignas(kLineSpacing) Line {
    std::byte bytes[kLineSpacing];
  };
  std::vector<std::vector<Line>> blocks;
  std::vector<std::byte*> seats;
};

// A seat has a line for each step's flag and one for the number of the round.
TEST(BarrierTest, SeatsAreLinesOfTheirOwn) {
  EXPECT_EQ(Barrier::seat_bytes(1), kLineSpacing);
  EXPECT_EQ(Barrier::seat_bytes(2), 2 * kLineSpacing);
  EXPECT_EQ(Barrier::seat_bytes(5), 4 * kLineSpacing);
  EXPECT_EQ(Barrier::seat_bytes(192), 9 * kLineSpacing);
}

TEST(BarrierTest, TwoSynchroniseApart) {
  Places first(3), second(2);
  std::vector<Barrier> barriers;
  barriers.emplace_back(first.seats);
  barriers.emplace_back(second.seats);
  // The two teams have different numbers of rounds, so a thread that waited for the other team
  // would never end.
  std::atomic<uint32_t> rounds{0};
  on_threads(5, [&](uint32_t thread) {
    const uint32_t which = thread < 3 ? 0 : 1, index = thread < 3 ? thread : thread - 3;
    for (uint32_t round = 0; round < (which == 0 ? 500u : 50u); ++round) {
      barriers[which].arrive_and_wait(index);
      if (index == 0) rounds.fetch_add(1);
    }
  });
  EXPECT_EQ(rounds.load(), 550u);
}

}  // namespace
}  // namespace hearth
