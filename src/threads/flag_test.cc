#include "threads/flag.h"

#include <gtest/gtest.h>

#include <random>
#include <thread>
#include <vector>

#include "threads/chunk_counter.h"

namespace hearth {
namespace {

TEST(FlagTest, ReachedIsAtLeast) {
  Flag flag;
  EXPECT_TRUE(flag.reached(0));
  EXPECT_FALSE(flag.reached(1));
  flag.post(5);
  EXPECT_TRUE(flag.reached(3));
  EXPECT_TRUE(flag.reached(5));
  EXPECT_FALSE(flag.reached(6));
  flag.wait_at_least(5);
  EXPECT_EQ(flag.posted(), 5u);
}

TEST(FlagTest, EpochsWrap) {
  Flag flag;
  flag.post(0x7fffffffu);
  flag.post(0xffffffffu);
  EXPECT_FALSE(flag.reached(0));
  flag.post(1);
  EXPECT_TRUE(flag.reached(0xffffffffu));
  EXPECT_TRUE(flag.reached(0));
  EXPECT_FALSE(flag.reached(2));
}

TEST(FlagTest, TakesLinesOfItsOwn) {
  EXPECT_EQ(alignof(Flag) % 64, 0u);
  EXPECT_EQ(sizeof(Flag), alignof(Flag));
}

// A waiting thread sees what several threads wrote before they arrived, in every round.
TEST(FlagTest, TheLastOfSeveralArrivalsPosts) {
  constexpr uint32_t kRounds = 500, kThreads = 3;
  Flag flag, go;
  std::vector<uint64_t> parts(kThreads, 0);
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (uint32_t round = 1; round <= kRounds; ++round) {
        go.wait_at_least(round);
        parts[t] = round;
        flag.arrive(t + 1, 1 + 2 + 3, round);
      }
    });
  }
  for (uint32_t round = 1; round <= kRounds; ++round) {
    EXPECT_FALSE(flag.reached(round));
    go.post(round);
    flag.wait_at_least(round);
    for (uint64_t part : parts) EXPECT_EQ(part, round);
  }
  for (std::thread& thread : threads) thread.join();
}

// Two threads play ping-pong with random pauses around the time when the waiter goes to sleep. A
// wake-up that is lost there would leave both asleep for ever.
TEST(FlagTest, NoWakeUpIsLost) {
  constexpr uint32_t kRounds = 3000;
  Flag ping, pong;
  uint64_t shared = 0;
  std::thread other([&] {
    std::mt19937 random(1);
    for (uint32_t round = 1; round <= kRounds; ++round) {
      ping.wait_at_least(round);
      EXPECT_EQ(shared, 2 * round - 1);
      if (random() % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 90));
      ++shared;
      pong.post(round);
    }
  });
  std::mt19937 random(2);
  for (uint32_t round = 1; round <= kRounds; ++round) {
    if (random() % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 90));
    ++shared;
    ping.post(round);
    pong.wait_at_least(round);
    EXPECT_EQ(shared, 2 * round);
  }
  other.join();
}

TEST(FlagTest, WaiterFallsAsleepAndIsWoken) {
  Flag flag;
  std::thread waiter([&] { flag.wait_at_least(1); });
  // This loop ends because the waiter must fall asleep at some time.
  while (flag.sleepers() == 0) std::this_thread::yield();
  flag.post(1);
  waiter.join();
  EXPECT_EQ(flag.sleepers(), 0u);
}

TEST(FlagTest, PostAllReachesSleepersAndSpinners) {
  std::vector<Flag> flags(5);
  std::vector<Flag*> pointers;
  for (Flag& flag : flags) pointers.push_back(&flag);
  std::vector<uint32_t> payload(200, 0);
  std::vector<std::thread> waiters;
  Flag done;
  std::atomic<uint32_t> arrived{0};
  for (uint32_t i = 0; i < 5; ++i) {
    waiters.emplace_back([&, i] {
      for (uint32_t round = 1; round <= 200; ++round) {
        flags[i].wait_at_least(round);
        EXPECT_EQ(payload[round - 1], round);
        if (arrived.fetch_add(1) + 1 == 5 * round) done.post(round);
      }
    });
  }
  std::mt19937 random(3);
  for (uint32_t round = 1; round <= 200; ++round) {
    if (random() % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 150));
    payload[round - 1] = round;
    Flag::post_all(pointers, round);
    done.wait_at_least(round);
  }
  for (std::thread& waiter : waiters) waiter.join();
}

TEST(ChunkCounterTest, CountsEachRoundOnce) {
  ChunkCounter counter;
  for (uint32_t epoch = 1; epoch < 4; ++epoch) {
    for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(counter.next(epoch, 3), i);
    EXPECT_EQ(counter.next(epoch, 3), 3u);
    EXPECT_EQ(counter.next(epoch, 3), 3u);
  }
}

TEST(ChunkCounterTest, OlderRoundHasNothingLeft) {
  ChunkCounter counter;
  EXPECT_EQ(counter.next(2, 8), 0u);
  EXPECT_EQ(counter.next(1, 8), 8u);
  EXPECT_EQ(counter.next(2, 8), 1u);
}

TEST(ChunkCounterTest, EmptyRound) {
  ChunkCounter counter;
  EXPECT_EQ(counter.next(1, 0), 0u);
  EXPECT_EQ(counter.next(1, 5), 0u) << "an empty round leaves no trace";
}

TEST(ChunkCounterTest, RunsAreHalfOfAnEvenShareOfWhatIsLeft) {
  ChunkCounter counter;
  std::vector<uint32_t> lengths;
  uint32_t end = 0;
  for (ChunkClaim run; (run = counter.next_several(1, 38, 3)).begin < 38;) {
    EXPECT_EQ(run.begin, end);
    end = run.end;
    lengths.push_back(run.end - run.begin);
  }
  EXPECT_EQ(end, 38u);
  EXPECT_EQ(lengths,
            (std::vector<uint32_t>{6, 5, 4, 3, 3, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(counter.next_several(1, 38, 3).end, 38u);
  EXPECT_EQ(counter.next_several(2, 0, 3).end, 0u);
  EXPECT_EQ(counter.next(2, 5), 0u) << "an empty round leaves no trace";
}

// Threads run through rounds without any barrier. Each chunk of each round must be claimed exactly
// once.
TEST(ChunkCounterTest, EveryChunkOnceWithoutBarriers) {
  constexpr uint32_t kRounds = 300, kChunks = 37, kThreads = 5;
  ChunkCounter counter;
  auto one = [](uint32_t chunk) { return ChunkClaim{chunk, chunk + 1}; };
  std::vector<std::atomic<uint32_t>> claimed(kRounds * kChunks);
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (uint32_t round = 0; round < kRounds; ++round) {
        if (random() % 16 == 0) std::this_thread::yield();
        for (ChunkClaim run; (run = t % 2 == 0 ? counter.next_several(round + 1, kChunks, kThreads)
                                               : one(counter.next(round + 1, kChunks)))
                                 .begin < kChunks;) {
          for (uint32_t c = run.begin; c < run.end; ++c) claimed[round * kChunks + c].fetch_add(1);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& count : claimed) ASSERT_EQ(count.load(), 1u);
}

}  // namespace
}  // namespace hearth
