#include "server/pull_line.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>
#include <vector>

namespace hearth {
namespace {

PullLine::Stop new_stop() { return std::make_shared<std::atomic<bool>>(false); }

TEST(PullLine, PullsOneAfterAnother) {
  PullLine line;
  std::vector<int> order;
  std::promise<void> last;
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(line.post(new_stop(), [&, i] {
      order.push_back(i);
      if (i == 4) last.set_value();
    }));
  }
  last.get_future().wait();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST(PullLine, StopsAndCallsAllWaitingPulls) {
  std::vector<PullLine::Stop> stops;
  size_t stopped = 0;
  {
    PullLine line;
    std::promise<void> begun;
    stops.push_back(new_stop());
    ASSERT_TRUE(line.post(stops[0], [&begun, stop = stops[0]] {
      begun.set_value();
      while (!*stop) std::this_thread::yield();
    }));
    begun.get_future().wait();
    for (size_t i = 0; i < PullLine::kMaxWaiting; ++i) {
      stops.push_back(new_stop());
      ASSERT_TRUE(line.post(stops.back(), [&, stop = stops.back()] { stopped += *stop; }));
    }
    EXPECT_FALSE(line.post(new_stop(), [] {}));
    line.end();
  }
  EXPECT_EQ(stopped, PullLine::kMaxWaiting);
  for (const PullLine::Stop& stop : stops) EXPECT_TRUE(*stop);
}

TEST(PullLine, StoppedPullsGiveTheirRoomBack) {
  PullLine line;
  std::promise<void> begun, goes_on, last;
  const PullLine::Stop first = new_stop();
  ASSERT_TRUE(line.post(first, [&] {
    begun.set_value();
    goes_on.get_future().wait();
  }));
  begun.get_future().wait();
  std::vector<PullLine::Stop> stops;
  std::vector<size_t> called;
  for (size_t i = 0; i < PullLine::kMaxWaiting; ++i) {
    stops.push_back(new_stop());
    ASSERT_TRUE(line.post(stops[i], [&called, i] { called.push_back(i); }));
  }
  ASSERT_FALSE(line.post(new_stop(), [] {}));
  for (size_t i = 1; i < stops.size(); ++i) line.leave(stops[i]);
  EXPECT_TRUE(*stops[1]);
  line.leave(first);  // it is running: its flag is set, and it stays in the line
  EXPECT_TRUE(*first);
  line.leave(new_stop());
  ASSERT_TRUE(line.post(new_stop(), [&last] { last.set_value(); }));
  goes_on.set_value();
  last.get_future().wait();
  EXPECT_EQ(called, std::vector<size_t>{0});
}

TEST(PullLine, EndsInTimeOrSaysThatItDoesNot) {
  PullLine line;
  EXPECT_TRUE(line.end_within(60));
  std::promise<void> goes_on;
  ASSERT_TRUE(line.post(new_stop(), [&goes_on] { goes_on.get_future().wait(); }));
  EXPECT_FALSE(line.end_within(0));
  goes_on.set_value();
  EXPECT_TRUE(line.end_within(60));
}

}  // namespace
}  // namespace hearth
