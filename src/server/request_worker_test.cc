#include "server/request_worker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <new>
#include <string>

#include "server/request_error.h"

namespace hearth {
namespace {

constexpr double kLong = 600;
constexpr int kSlices = 3;

// Runs tasks that write letters, and returns them in order; tasks begin once all are posted.
class RequestWorkerTest : public ::testing::Test {
 protected:
  RequestWorkerTest() {
    std::promise<void> begun;
    worker_.post([this, &begun] {
      begun.set_value();
      gate_.get_future().wait();
    });
    begun.get_future().wait();
  }

  // Posts a task of `slices` slices, each of which writes `letter`.
  void post_long(char letter, int slices = kSlices, uint64_t body_bytes = 0) {
    ++left_;
    auto task = [this, letter, slices] {
      Pace pace = worker_.pace(never_);
      for (int i = 0; i < slices; ++i) {
        said_ += letter;
        pace.did(Pace::kUnits);
      }
      note_end();
    };
    worker_.post(std::move(task), nullptr, body_bytes);
  }
  void post_short(char letter) { post_long(letter, 1); }
  void note_end() {
    if (--left_ == 0) done_.set_value();
  }
  // Lets the tasks begin, and returns all letters once the last task has ended.
  std::string run() {
    gate_.set_value();
    done_.get_future().wait();
    return said_;
  }

  std::promise<void> gate_, done_;
  std::atomic<bool> never_{false};
  std::atomic<int> left_{0};
  std::string said_;  // written only by the task with the turn
  int troubles_ = 0;  // written only by the task with the turn, too
  RequestWorker worker_{[this](const std::exception&) { ++troubles_; }};
};

TEST_F(RequestWorkerTest, ATaskThatThrowsEndsAlone) {
  worker_.post([] { throw std::bad_alloc(); });
  post_short('a');
  EXPECT_EQ(run(), "a");
  EXPECT_EQ(troubles_, 1);
}

TEST_F(RequestWorkerTest, AShortTaskNeedNotWaitForTheEndOfALongOne) {
  post_long('a', 100);
  post_short('b');
  EXPECT_EQ(run().substr(0, 3), "aba");
}

TEST_F(RequestWorkerTest, LongTasksTakeTurns) {
  for (char letter : {'a', 'b', 'c'}) post_long(letter);
  EXPECT_EQ(run(), "abcabcabc");
}

TEST_F(RequestWorkerTest, MoreLongTasksThanThreadsComeToTheirEnds) {
  for (size_t i = 0; i < 3 * RequestWorker::kMaxThreads; ++i) post_long('a');
  EXPECT_EQ(run().size(), 3 * RequestWorker::kMaxThreads * kSlices);
}

TEST_F(RequestWorkerTest, TheEndInterruptsWhatIsUnderWay) {
  std::promise<void> begun;
  std::atomic<int> thrown{0};
  auto endless = [&] {
    Pace pace = worker_.pace(never_);
    try {
      for (;;) pace.did(Pace::kUnits);
    } catch (const RequestError& error) {
      thrown += error.api().status == 503 ? 1 : 0;
    }
  };
  for (int i = 0; i < 3; ++i) worker_.post(endless);
  worker_.post([&] { begun.set_value(); });
  gate_.set_value();
  begun.get_future().wait();
  EXPECT_TRUE(worker_.end(kLong));
  EXPECT_EQ(thrown, 3);
}

TEST_F(RequestWorkerTest, TheEndDoesNotWaitForWhatNeverPauses) {
  EXPECT_FALSE(worker_.end(0)) << "the gate is closed";
  gate_.set_value();
  EXPECT_TRUE(worker_.end(kLong));
}

TEST_F(RequestWorkerTest, AbandonedTasksEndAtTheirNextPause) {
  std::atomic<bool> ended{false};
  std::promise<unsigned> status;
  worker_.post([&] {
    Pace pace = worker_.pace(ended);
    try {
      for (;;) {
        pace.did(Pace::kUnits);
        ended = true;
      }
    } catch (const RequestError& error) {
      status.set_value(error.api().status);
    }
  });
  gate_.set_value();
  EXPECT_EQ(status.get_future().get(), 503u);
  EXPECT_TRUE(worker_.end(kLong));
}

// Two tasks with large bodies are under way at a time; small ones overtake the third.
TEST_F(RequestWorkerTest, FewLargeBodiesAreUnderWay) {
  for (char letter : {'a', 'b', 'c'}) post_long(letter, kSlices, RequestWorker::kLargeBody);
  post_short('s');
  const std::string said = run();
  EXPECT_GT(said.find('c'), std::min(said.rfind('a'), said.rfind('b'))) << said;
  EXPECT_LT(said.find('s'), said.find('c')) << said;
}

TEST_F(RequestWorkerTest, SmallBodiesAreUnderWayTogether) {
  for (char letter : {'a', 'b', 'c'}) post_long(letter, kSlices, RequestWorker::kLargeBody - 1);
  const std::string said = run();
  EXPECT_LT(said.find('c'), std::min(said.rfind('a'), said.rfind('b'))) << said;
}

}  // namespace
}  // namespace hearth
