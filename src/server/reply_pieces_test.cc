#include "server/reply_pieces.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "base/json_reader.h"
#include "http/exchange_state.h"
#include "server/reply_bodies.h"

namespace hearth {
namespace {

// A source of so many pieces of one byte; with `fails` it throws in place of the next one.
class Drops : public BodySource {
 public:
  Drops(int pieces, bool fails) : left_(pieces), fails_(fails) {}
  bool next(std::string* body) override {
    if (left_ == 0) throw std::runtime_error("no more");
    *body += 'x';
    return --left_ > 0 || fails_;
  }

 private:
  int left_;
  const bool fails_;
};

// A client that reads all that is there each time it is notified.
class Client : public AnswerSink {
 public:
  void answer_ready() override {
    ExchangeState::Output output = state->take();
    if (output.reply) whole = output.reply->body;
    begun |= output.pieces.has_value();
    ended |= output.ended;
    broken |= output.broken;
    if (output.bytes.empty()) return;
    pieces.push_back(output.bytes);
    state->wrote(output.bytes.size());
  }

  std::shared_ptr<ExchangeState> state;
  std::optional<std::string> whole;
  bool begun = false, ended = false, broken = false;
  std::vector<std::string> pieces;
};

class ReplyPiecesTest : public testing::Test {
 protected:
  ReplyPiecesTest() {
    client_->state =
        std::make_shared<ExchangeState>(HttpRequest(), BodyLease(), budget_, mailbox_, client_);
  }
  ~ReplyPiecesTest() override {
    worker_.end(60);
    client_->state->set_gone();
    mailbox_->close();
  }

  void answer(std::unique_ptr<BodySource> source) {
    auto reply = std::make_shared<PiecedReply>(std::make_shared<Exchange>(client_->state), worker_,
                                               std::move(source));
    reply->make();
    reply->hand_over();
    while (!client_->ended && !client_->broken) mailbox_->deliver();
  }

  std::shared_ptr<ReplyBudget> budget_ = std::make_shared<ReplyBudget>(1 << 20);
  std::shared_ptr<AnswerMailbox> mailbox_ = std::make_shared<AnswerMailbox>([] {});
  std::shared_ptr<Client> client_ = std::make_shared<Client>();
  RequestWorker worker_;
};

TEST_F(ReplyPiecesTest, OnePieceIsAWholeReply) {
  answer(std::make_unique<Drops>(1, false));
  EXPECT_EQ(client_->whole, "x");
  EXPECT_FALSE(client_->begun);
}

TEST_F(ReplyPiecesTest, APieceIsMadeWhenTheOneBeforeHasLeft) {
  answer(std::make_unique<Drops>(5, false));
  EXPECT_EQ(client_->pieces, std::vector<std::string>(5, "x"));
  EXPECT_TRUE(client_->begun && client_->ended && !client_->broken);
  EXPECT_EQ(budget_->used(), 0u);
}

TEST_F(ReplyPiecesTest, AFailureInTheMiddleBreaksTheBodyOff) {
  answer(std::make_unique<Drops>(3, true));
  EXPECT_EQ(client_->pieces.size(), 3u);
  EXPECT_TRUE(client_->broken && !client_->ended);
}

TEST(BodySources, ALargeTextComesInPiecesThatCutNoCharacter) {
  std::string text;
  while (text.size() < 3 * kPieceBytes) text += "a\u00e9\"\n\xf0\x9f\xa6\x8a";
  WholeTextBody body("content", text);
  std::string all;
  int pieces = 0;
  for (bool more = true; more; ++pieces) {
    std::string piece;
    more = body.next(&piece);
    EXPECT_LT(piece.size(), 2 * kPieceBytes);
    all += piece;
  }
  EXPECT_GT(pieces, 3);
  boost::json::value read = read_json(all);
  EXPECT_EQ(std::string_view(read.at("content").as_string()), text);
}

TEST(BodySources, ACompletionWithManyEntriesComesInPieces) {
  ReplyHead head{true, "chatcmpl-1", 1700000000, "demo", "fp_1", true, false};
  TokenEntry entry{"a", -0.5, std::vector(20, std::pair<std::string, double>("b", -1.0)), 3};
  ChoicePart choice{0, "text", std::vector(8000, entry), Finish::kLength};
  for (bool chat : {true, false}) {
    head.chat = chat;
    CompletionBody body(head, {choice, choice}, {});
    std::string all;
    int pieces = 0;
    for (bool more = true; more; ++pieces) {
      std::string piece;
      more = body.next(&piece);
      EXPECT_LT(piece.size(), 2 * kPieceBytes);
      all += piece;
    }
    const boost::json::value read = read_json(all);
    const boost::json::value& logprobs = read.at("choices").at(1).at("logprobs");
    EXPECT_EQ(logprobs.at(chat ? "content" : "text_offset").as_array().size(), 8000u);
    EXPECT_GT(pieces, 1);
  }
}

}  // namespace
}  // namespace hearth
