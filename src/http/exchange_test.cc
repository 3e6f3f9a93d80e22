#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "http/exchange.h"
#include "http/exchange_state.h"

namespace hearth {
namespace {

// Takes an answer's output when notified, as a connection does.
class Sink : public AnswerSink {
 public:
  void answer_ready() override {
    if (before) before();
    ExchangeState::Output output = state->take();
    ++turns;
    if (output.reply) reply = output.reply;
    if (output.events) begun = true;
    bytes += output.bytes;
    ended = ended || output.ended;
    broken = broken || output.broken;
    if (after) after();
  }

  std::function<void()> before, after;
  std::shared_ptr<ExchangeState> state;
  int turns = 0;
  std::optional<HttpReply> reply;
  bool begun = false, ended = false, broken = false;
  std::string bytes;
};

class HttpExchangeTest : public testing::Test {
 protected:
  HttpExchangeTest() { begin(HttpDialect::kEvents); }

  void begin(HttpDialect dialect) {
    exchange_.reset();
    sink_ = std::make_shared<Sink>();
    HttpRequest request;
    request.dialect = dialect;
    request.body = "body";
    BodyLease lease(budget_);
    lease.grow_to(4);
    sink_->state = std::make_shared<ExchangeState>(std::move(request), std::move(lease), replies_,
                                                   mailbox_, sink_);
    exchange_ = std::make_shared<Exchange>(sink_->state);
  }
  ~HttpExchangeTest() override { mailbox_->close(); }

  int wakes_ = 0;
  std::shared_ptr<BodyBudget> budget_ = std::make_shared<BodyBudget>(100);
  std::shared_ptr<ReplyBudget> replies_ = std::make_shared<ReplyBudget>(100'000);
  std::shared_ptr<AnswerMailbox> mailbox_ = std::make_shared<AnswerMailbox>([this] { ++wakes_; });
  std::shared_ptr<Sink> sink_;
  std::shared_ptr<Exchange> exchange_;
};

TEST_F(HttpExchangeTest, ManyEventsWakeTheReactorOnce) {
  exchange_->begin_events();
  for (int i = 0; i < 100; ++i) exchange_->send("x");
  EXPECT_EQ(wakes_, 1);
  EXPECT_EQ(exchange_->unsent(), 100u);
  mailbox_->deliver();
  EXPECT_EQ(sink_->turns, 1);
  EXPECT_EQ(sink_->bytes, std::string(100, 'x'));
  exchange_->end();
  EXPECT_EQ(wakes_, 2);
  mailbox_->deliver();
  EXPECT_TRUE(sink_->ended);
}

TEST_F(HttpExchangeTest, DrainedWhenAllHasLeft) {
  int drained = 0;
  exchange_->on_drained([&] { ++drained; });
  exchange_->begin_events();
  exchange_->send("abc");
  mailbox_->deliver();
  exchange_->send("de");
  sink_->state->wrote(3);
  EXPECT_EQ(drained, 0);
  EXPECT_EQ(exchange_->unsent(), 2u);
  mailbox_->deliver();
  sink_->state->wrote(2);
  EXPECT_EQ(drained, 1);
}

TEST_F(HttpExchangeTest, DyingUnansweredIsAnAnswer) {
  exchange_ = nullptr;
  mailbox_->deliver();
  ASSERT_TRUE(sink_->reply);
  EXPECT_EQ(sink_->reply->status, 500u);
}

TEST_F(HttpExchangeTest, DyingInTheMiddleIsAnEvent) {
  exchange_->begin_events();
  exchange_ = nullptr;
  mailbox_->deliver();
  EXPECT_TRUE(sink_->ended);
  EXPECT_TRUE(sink_->bytes.starts_with("data: {\"error\":"));
}

TEST_F(HttpExchangeTest, DyingInTheMiddleOfLinesIsALine) {
  begin(HttpDialect::kLines);
  exchange_->begin_events();
  exchange_ = nullptr;
  mailbox_->deliver();
  EXPECT_TRUE(sink_->ended);
  EXPECT_EQ(sink_->bytes, "{\"error\":\"The server failed to answer this request.\"}\n");
}

TEST_F(HttpExchangeTest, GoneNotifiesOnceAndDropsFurtherOutput) {
  int gone = 0;
  exchange_->on_gone([&gone, held = exchange_] { ++gone; });
  exchange_->begin_events();
  exchange_->send("x");
  sink_->state->set_gone();
  sink_->state->set_gone();
  mailbox_->deliver();
  EXPECT_EQ(gone, 1);
  EXPECT_EQ(exchange_->unsent(), 0u);
  exchange_->send("y");
  exchange_->end();
  EXPECT_EQ(sink_->bytes, "");
  EXPECT_EQ(exchange_.use_count(), 1);
}

TEST_F(HttpExchangeTest, LateHandlersAreNotifiedByTheReactor) {
  int gone = 0;
  sink_->state->set_gone();
  exchange_->on_gone([&] { ++gone; });
  EXPECT_EQ(gone, 0);
  mailbox_->deliver();
  EXPECT_EQ(gone, 1);
}

TEST_F(HttpExchangeTest, HandlersSetAfterTheServersEndAreNotifiedAtOnce) {
  int gone = 0;
  sink_->state->set_gone();
  mailbox_->close();
  exchange_->on_gone([&] { ++gone; });
  EXPECT_EQ(gone, 1);
}

// Another thread calls fall_short() while the reactor takes the answer's output, in the same turn.
TEST_F(HttpExchangeTest, FallingShortWhileTakenNotifiesThoughAllWasWritten) {
  int gone = 0;
  exchange_->on_gone([&] { ++gone; });
  exchange_->begin_events();
  exchange_->send("abc");
  sink_->before = [&] { exchange_->fall_short(); };
  sink_->after = [&] { sink_->state->set_written(); };
  mailbox_->deliver();
  EXPECT_TRUE(sink_->ended);
  EXPECT_EQ(sink_->turns, 1);
  EXPECT_EQ(gone, 1);
}

TEST_F(HttpExchangeTest, WrittenLetsGoOfWhatWasHeld) {
  exchange_->on_gone([held = exchange_] { FAIL(); });
  exchange_->on_drained([held = exchange_] {});
  exchange_->reply({});
  mailbox_->deliver();
  sink_->state->set_written();
  EXPECT_EQ(exchange_.use_count(), 1);
  exchange_->on_gone([] { FAIL(); });
}

TEST_F(HttpExchangeTest, TakingTheBodyGivesItsRoomBack) {
  EXPECT_EQ(budget_->used(), 4u);
  EXPECT_EQ(exchange_->take_body(), "body");
  EXPECT_EQ(budget_->used(), 0u);
  EXPECT_EQ(exchange_->request().body, "");
}

TEST_F(HttpExchangeTest, ABodyThatIsReadCountsAsLongAsItsLease) {
  {
    BodyLease lease;
    EXPECT_EQ(exchange_->take_body(&lease), "body");
    EXPECT_EQ(budget_->used(), 4u);
  }
  EXPECT_EQ(budget_->used(), 0u);
}

TEST_F(HttpExchangeTest, CountsAnAnswersBytesUntilTheyAreWritten) {
  EXPECT_TRUE(exchange_->hold(90'000));
  EXPECT_FALSE(exchange_->hold(20'000));
  EXPECT_EQ(replies_->used(), 90'000u);
  exchange_->reply({.body = std::string(95'000, 'x')});
  EXPECT_EQ(replies_->used(), 95'000u);
  mailbox_->deliver();
  sink_->state->set_written();
  EXPECT_EQ(replies_->used(), 0u);
}

TEST_F(HttpExchangeTest, SmallAnswersAlwaysHaveRoom) {
  replies_->add(100'000);
  EXPECT_TRUE(exchange_->replies_full());
  EXPECT_TRUE(exchange_->hold(10'000));
  EXPECT_FALSE(exchange_->hold(10'000));
}

TEST_F(HttpExchangeTest, CountsUnsentBytesOfAStream) {
  exchange_->begin_events();
  exchange_->send("abcde");
  EXPECT_EQ(replies_->used(), 5u);
  sink_->state->wrote(3);
  EXPECT_EQ(replies_->used(), 2u);
  sink_->state->set_gone();
  EXPECT_EQ(replies_->used(), 0u);
}

TEST_F(HttpExchangeTest, DyingInTheMiddleOfABodyBreaksItOff) {
  exchange_->begin_body("text/plain");
  exchange_->send("half");
  exchange_ = nullptr;
  mailbox_->deliver();
  EXPECT_TRUE(sink_->broken);
  EXPECT_FALSE(sink_->ended);
}

TEST_F(HttpExchangeTest, ManyThreads) {
  constexpr int kThreads = 4, kEvents = 1000;
  exchange_->begin_events();
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this] {
      for (int i = 0; i < kEvents; ++i) exchange_->send("x");
    });
  }
  while (sink_->bytes.size() < kThreads * kEvents) mailbox_->deliver();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(exchange_->unsent(), static_cast<size_t>(kThreads * kEvents));
}

}  // namespace
}  // namespace hearth
