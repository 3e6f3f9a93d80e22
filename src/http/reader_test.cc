#include "http/reader.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace hearth {
namespace {

using Stage = HttpReader::Stage;

class HttpReaderTest : public testing::Test {
 protected:
  // Returns how the bytes are read, in pieces of `piece` bytes: "METHOD PATH BODY" for each
  // request, or the refusal's status.
  std::vector<std::string> read(std::string_view bytes, size_t piece) {
    HttpReader reader(options_, budget_);
    std::vector<std::string> found;
    for (size_t at = 0; at < bytes.size() && reader.stage() != Stage::kRefused;) {
      at += reader.take(bytes.substr(at, piece));
      if (reader.stage() == Stage::kHeadDone) reader.begin_body();
      if (reader.stage() == Stage::kDone) {
        BodyLease lease;
        HttpRequest request = reader.release(lease);
        found.push_back(request.method + " " + request.path + " " + request.body);
      }
    }
    if (reader.stage() == Stage::kRefused) {
      found.push_back(std::to_string(reader.refusal().status));
    }
    return found;
  }

  HttpOptions options_;
  std::shared_ptr<BodyBudget> budget_ = std::make_shared<BodyBudget>(100000);
};

TEST_F(HttpReaderTest, TheSameInPiecesOfAnyLength) {
  std::string_view bytes =
      "GET /a HTTP/1.1\r\nHost: a\r\n\r\n"
      "POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello\r\n"
      "POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
      "GET /d HTTP/1.0\r\n\r\nGET /e HTTP/1.1\n";
  std::vector<std::string> expected = {"GET /a ", "POST /b hello", "POST /c abc", "GET /d ", "400"};
  for (size_t piece = 1; piece <= bytes.size(); ++piece) EXPECT_EQ(read(bytes, piece), expected);
  EXPECT_EQ(budget_->used(), 0u);
}

TEST_F(HttpReaderTest, RefusesAtTheByteThatIsWrong) {
  HttpReader reader(options_, budget_);
  EXPECT_EQ(reader.take("GET / HTTP/1.1\r\nHost: a\nGET / HTTP/1.1\r\n"), 24u);
  EXPECT_EQ(reader.stage(), Stage::kRefused);
}

TEST_F(HttpReaderTest, ABodyTakesNoMoreRoomThanItFills) {
  HttpReader reader(options_, budget_);
  reader.take("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 90000\r\n\r\n");
  reader.begin_body();
  EXPECT_EQ(reader.stage(), Stage::kBody);
  reader.take(std::string(100, 'x'));
  EXPECT_LE(budget_->used(), 1000u);
  reader.take(std::string(80000, 'x'));
  EXPECT_GE(budget_->used(), 80100u);
  EXPECT_LE(budget_->used(), 90000u);
  reader.take(std::string(9900, 'x'));
  ASSERT_EQ(reader.stage(), Stage::kDone);
  {
    BodyLease lease;
    EXPECT_EQ(reader.release(lease).body.size(), 90000u);
    EXPECT_GE(budget_->used(), 90000u);
  }
  EXPECT_EQ(budget_->used(), 0u);
}

TEST_F(HttpReaderTest, BodiesTogetherKeepTheirLimit) {
  HttpReader first(options_, budget_), second(options_, budget_);
  for (HttpReader* reader : {&first, &second}) {
    reader->take("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    reader->begin_body();
  }
  first.take("ea60\r\n" + std::string(60000, 'x'));
  EXPECT_EQ(first.stage(), Stage::kBody);
  second.take("ea60\r\n" + std::string(60000, 'x'));
  ASSERT_EQ(second.stage(), Stage::kRefused);
  EXPECT_EQ(second.refusal().status, 503u);
  second.reset();
  first.reset();
  EXPECT_EQ(budget_->used(), 0u);
}

TEST_F(HttpReaderTest, LengthsBeyondTheLimitAreNotRead) {
  HttpReader reader(options_, budget_);
  reader.take("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 8388609\r\n\r\n");
  ASSERT_EQ(reader.stage(), Stage::kHeadDone);
  reader.begin_body();
  ASSERT_EQ(reader.stage(), Stage::kRefused);
  EXPECT_EQ(reader.refusal().status, 413u);
  EXPECT_EQ(reader.take("x"), 0u);
}

}  // namespace
}  // namespace hearth
