#include "engine/result_stream.h"

#include <gtest/gtest.h>

#include <thread>

namespace hearth {
namespace {

Result numbered(uint32_t index) {
  Result result;
  result.index = index;
  return result;
}

TEST(ResultStream, ResultsComeInOrder) {
  ResultStream stream(3);
  EXPECT_EQ(stream.capacity(), 3u);
  EXPECT_FALSE(stream.try_pop());
  ASSERT_TRUE(stream.reserve(3));
  for (uint32_t i = 0; i < 3; ++i) stream.push_reserved(numbered(i));
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(stream.try_pop()->index, i);
  EXPECT_FALSE(stream.try_pop());
}

TEST(ResultStream, RoomIsWhatIsNeitherFilledNorSetAside) {
  ResultStream stream(4);
  EXPECT_FALSE(stream.reserve(5));
  EXPECT_TRUE(stream.reserve(3));
  EXPECT_FALSE(stream.reserve(2)) << "three are set aside";
  stream.push_reserved(numbered(0));
  EXPECT_FALSE(stream.reserve(2)) << "one of them is filled";
  stream.unreserve(2);
  EXPECT_TRUE(stream.reserve(3));
  EXPECT_FALSE(stream.reserve(1));
  EXPECT_TRUE(stream.try_pop());
  EXPECT_TRUE(stream.reserve(1));
}

TEST(ResultStream, AnEndNeedsNoRoom) {
  ResultStream stream(1);
  ASSERT_TRUE(stream.reserve(1));
  stream.push_reserved(numbered(0));
  stream.push_final({numbered(1)});
  stream.push_final({numbered(2)});
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(stream.try_pop()->index, i);
}

TEST(ResultStream, NotifiesOfRequestedRoomAndOfItsEnd) {
  ResultStream stream(1);
  int notified = 0;
  stream.set_on_room([&] { ++notified; });
  ASSERT_TRUE(stream.reserve(1));
  stream.push_reserved(numbered(0));
  stream.try_pop();
  EXPECT_EQ(notified, 0) << "nobody asked";
  ASSERT_TRUE(stream.reserve(1));
  stream.push_reserved(numbered(1));
  EXPECT_FALSE(stream.reserve(1));
  stream.try_pop();
  EXPECT_EQ(notified, 1);
  stream.try_pop();
  EXPECT_EQ(notified, 1);
  stream.close();
  EXPECT_EQ(notified, 2);
}

TEST(ResultStream, NotifiesOnceForAllResultsThatCame) {
  ResultStream stream(4);
  int notified = 0;
  size_t got = 0;
  stream.set_on_results([&] {
    ++notified;
    while (stream.try_pop()) ++got;
  });
  stream.notify_results();
  EXPECT_EQ(notified, 0) << "nothing came";
  ASSERT_TRUE(stream.reserve(2));
  stream.push_reserved(numbered(0));
  stream.push_reserved(numbered(1));
  stream.push_final({numbered(2)});
  EXPECT_EQ(notified, 0) << "more may come";
  stream.notify_results();
  EXPECT_EQ(notified, 1);
  EXPECT_EQ(got, 3u);
  stream.notify_results();
  EXPECT_EQ(notified, 1);
}

TEST(ResultStream, ClosingEndsNotificationsAndReleasesTheClient) {
  auto client = std::make_shared<int>(0);
  ResultStream stream(4);
  stream.set_on_results([client] { ++*client; });
  EXPECT_EQ(client.use_count(), 2);
  ASSERT_TRUE(stream.reserve(1));
  stream.push_reserved(numbered(0));
  stream.close();
  stream.push_final({numbered(1)});
  stream.notify_results();
  EXPECT_EQ(*client, 0);
  EXPECT_EQ(client.use_count(), 1);
}

TEST(ResultStream, MayBeClosedByItsNotification) {
  auto stream = std::make_shared<ResultStream>(4);
  stream->set_on_results([held = stream] { held->close(); });
  std::weak_ptr<ResultStream> weak = stream;
  ASSERT_TRUE(stream->reserve(1));
  stream->push_reserved(numbered(0));
  stream->notify_results();
  EXPECT_TRUE(stream->closed());
  stream.reset();
  EXPECT_TRUE(weak.expired()) << "it held itself until it was closed";
}

TEST(ResultStream, RoomIsForSomeSteps) {
  EXPECT_EQ(result_room(0), 64u);
  EXPECT_EQ(result_room(8), 64u);
  EXPECT_EQ(result_room(9), 72u);
  EXPECT_GE(result_room(UINT32_MAX), 1u << 31);
}

TEST(ResultStream, AClosedOneDropsEverything) {
  ResultStream stream(2);
  ASSERT_TRUE(stream.reserve(2));
  stream.push_reserved(numbered(0));
  EXPECT_FALSE(stream.closed());
  stream.close();
  EXPECT_TRUE(stream.closed());
  stream.push_reserved(numbered(1));
  stream.push_final({numbered(2)});
  EXPECT_FALSE(stream.try_pop());
}

// The writer pushes when it can, and the reader sleeps until a result comes. No result is lost,
// doubled or out of order, and neither thread stays asleep.
TEST(ResultStream, TwoThreadsMeet) {
  constexpr uint32_t kResults = 3000;
  ResultStream stream(3);
  std::mutex mutex;
  std::condition_variable changed;
  bool room = false;
  stream.set_on_room([&] {
    std::lock_guard lock(mutex);
    room = true;
    changed.notify_one();
  });
  std::thread writer([&] {
    for (uint32_t i = 0; i < kResults; ++i) {
      while (!stream.reserve(1)) {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return room; });
        room = false;
      }
      stream.push_reserved(numbered(i));
    }
  });
  for (uint32_t i = 0; i < kResults; ++i) {
    std::optional<Result> result = stream.pop(std::chrono::hours(1));
    ASSERT_TRUE(result);
    ASSERT_EQ(result->index, i);
  }
  writer.join();
}

TEST(ResultStream, ClosingWakesWaitingReaders) {
  ResultStream stream;
  std::thread closer([&] { stream.close(); });
  EXPECT_FALSE(stream.pop(std::chrono::hours(1)));
  closer.join();
}

}  // namespace
}  // namespace hearth
