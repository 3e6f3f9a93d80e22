#include "bench/serve_runner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace hearth {
namespace {

// A server that answers each request after `seconds` with two tokens, the first at half that time.
// Its clock advances only in wait().
class FakeServer final : public Transport {
 public:
  double now = 1000;
  double seconds = 2;
  bool answers = true;
  size_t max_at_once = 0;
  std::vector<double> started;
  std::vector<uint64_t> abandoned;  // ids of requests abandoned before they ended

  void start(uint64_t id, ClientRequest request) override {
    EXPECT_EQ(request.url, "http://h/asked");
    started.push_back(now - 1000);
    if (!answers) {
      pending_.push_back({id, std::numeric_limits<double>::infinity(), true, ""});
    } else {
      pending_.push_back({id, now + seconds / 2, false, kToken});
      pending_.push_back({id, now + seconds, true, std::string(kToken) + "data: [DONE]\n\n"});
    }
    max_at_once = std::max(max_at_once, under_way());
  }

  void wait(double most, std::vector<ReplyEvent>* events) override {
    EXPECT_GE(most, 0);
    auto next = std::ranges::min_element(pending_, {}, &Piece::when);
    if (next == pending_.end() || next->when > now + most) {
      now += most;
      return;
    }
    now = std::max(now, next->when);
    ReplyEvent event;
    event.id = next->id;
    event.when = now;
    event.kind = next->last ? ReplyEvent::Kind::kEnd : ReplyEvent::Kind::kBody;
    event.status = 200;
    event.is_stream = true;
    event.text = next->text;
    pending_.erase(next);
    events->push_back(event);
  }

  void abandon(uint64_t id) override {
    if (std::erase_if(pending_, [&](const Piece& piece) { return piece.id == id; }) > 0) {
      abandoned.push_back(id);
    }
  }

 private:
  static constexpr const char* kToken = "data: {\"choices\":[{\"text\":\"x\"}]}\n\n";
  struct Piece {
    uint64_t id;
    double when;
    bool last;
    std::string text;
  };

  size_t under_way() const {
    return static_cast<size_t>(std::ranges::count_if(pending_, &Piece::last));
  }

  std::vector<Piece> pending_;
};

struct Bench {
  FakeServer server;
  std::vector<RequestShape> asked;
  ServeHooks hooks;
  ServeLoad load;

  Bench() {
    hooks.clock = [this] { return server.now; };
    hooks.request = [this](const RequestShape& shape) {
      asked.push_back(shape);
      return ClientRequest{"http://h/asked"};
    };
    load.shapes = {{10, 2}, {20, 2}, {30, 2}};
  }
  ServedLoad run() { return ServeRunner(server, hooks).run(load); }
};

TEST(ServeRunner, ClosedLoopKeepsItsNumberUnderWay) {
  Bench bench;
  bench.load.concurrency = 3;
  bench.load.requests = 8;
  ServedLoad served = bench.run();
  EXPECT_FALSE(served.rate.has_value());
  EXPECT_EQ(served.concurrency, 3u);
  EXPECT_EQ(served.requests.size(), 8u);
  EXPECT_EQ(bench.server.max_at_once, 3u);
  EXPECT_EQ(bench.server.started, (std::vector<double>{0, 0, 0, 2, 2, 2, 4, 4}));
  EXPECT_EQ(served.seconds, 6);
  EXPECT_EQ(bench.asked[2], (RequestShape{30, 2}));
  EXPECT_EQ(bench.asked[3], (RequestShape{10, 2}));
  for (const ServedRequest& request : served.requests) {
    EXPECT_TRUE(request.completed());
    EXPECT_DOUBLE_EQ(request.ttft(), 1);
    EXPECT_DOUBLE_EQ(request.tpot(), 1);
  }
}

TEST(ServeRunner, OpenLoopSendsOnScheduleWithoutWaiting) {
  Bench bench;
  bench.load.rate = 50;
  bench.load.requests = 40;
  bench.load.seed = 3;
  ServedLoad served = bench.run();
  EXPECT_EQ(served.requests.size(), 40u);
  // All 40 requests, at 50 a second, are sent before the first answer ends after 2 s.
  EXPECT_EQ(bench.server.max_at_once, 40u);
  PoissonArrivals arrivals(50, 3);
  for (double started : bench.server.started) EXPECT_NEAR(started, arrivals.next(), 1e-9);
  for (const ServedRequest& request : served.requests) EXPECT_NEAR(request.whole(), 2, 1e-9);
}

TEST(ServeRunner, TimesCountFromWhenARequestWasDue) {
  Bench bench;
  bench.load.rate = 10;
  bench.load.requests = 5;
  // Making a request takes a second: the client is late.
  bench.hooks.request = [&](const RequestShape&) {
    bench.server.now += 1;
    return ClientRequest{"http://h/asked"};
  };
  ServedLoad served = bench.run();
  PoissonArrivals arrivals(10, 0);
  for (const ServedRequest& request : served.requests) {
    EXPECT_NEAR(request.due - 1000, arrivals.next(), 1e-9);
    EXPECT_GE(request.whole(), 3 - 1e-9);
  }
}

TEST(ServeRunner, EndsAfterTheGivenSeconds) {
  Bench bench;
  bench.load.requests = 1000;
  bench.load.seconds = 5;
  EXPECT_EQ(bench.run().requests.size(), 3u);
  Bench open;
  open.load.rate = 4;
  open.load.requests = 1000;
  open.load.seconds = 5;
  size_t due = 0;
  for (PoissonArrivals arrivals(4, 0); arrivals.next() < 5;) ++due;
  ServedLoad served = open.run();
  EXPECT_EQ(served.requests.size(), due);
  EXPECT_GT(served.seconds, 5);
}

TEST(ServeRunner, GivesUpOnASilentServer) {
  Bench bench;
  bench.server.answers = false;
  bench.load.timeout = 30;
  bench.load.concurrency = 2;
  bench.load.requests = 3;
  ServedLoad served = bench.run();
  ASSERT_EQ(served.requests.size(), 3u);
  for (const ServedRequest& request : served.requests) {
    EXPECT_EQ(request.failure, "timeout");
    EXPECT_NEAR(request.whole(), 30, 0.5);
  }
  EXPECT_EQ(bench.server.abandoned, (std::vector<uint64_t>{0, 1, 2}));
}

TEST(ServeRunner, InterruptLeavesOutWhatHasNotEnded) {
  Bench bench;
  bench.load.concurrency = 4;
  bench.load.requests = 100;
  uint64_t ended = 0;
  bench.hooks.progress = [&](uint64_t count, uint64_t) { ended = count; };
  bench.hooks.interrupted = [&] { return ended >= 6; };
  ServedLoad served = bench.run();
  EXPECT_EQ(served.requests.size(), 6u);
  EXPECT_EQ(bench.server.abandoned.size(), bench.server.started.size() - 6);
}

}  // namespace
}  // namespace hearth
