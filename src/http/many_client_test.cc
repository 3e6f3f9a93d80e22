#include "http/many_client.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string_view>
#include <thread>

#include "base/clock.h"
#include "base/error.h"

namespace hearth {
namespace {

// A server that takes the client's first connection, which sends nothing, then one request, which
// it answers with the given bytes, valid or not.
class OneAnswer {
 public:
  explicit OneAnswer(std::string answer) : answer_(std::move(answer)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listener_ = socket(AF_INET, SOCK_STREAM, 0);
    auto* any = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(listener_, any, size), 0);
    EXPECT_EQ(listen(listener_, 8), 0);
    EXPECT_EQ(getsockname(listener_, any, &size), 0);
    origin_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    thread_ = std::thread([this] { serve(); });
  }
  ~OneAnswer() {
    thread_.join();
    close(listener_);
  }

  const std::string& origin() const { return origin_; }
  // Returns the request. Call it once the answer has ended.
  const std::string& asked() const { return asked_; }

 private:
  void serve() {
    close(accept(listener_, nullptr, nullptr));
    int fd = accept(listener_, nullptr, nullptr);
    char buffer[4096];
    while (!asked_.ends_with("\r\n\r\n{}")) {
      ssize_t count = recv(fd, buffer, sizeof(buffer), 0);
      if (count <= 0) break;
      asked_.append(buffer, static_cast<size_t>(count));
    }
    constexpr size_t kShort = 1000;
    size_t piece = answer_.size() < kShort ? 1 : answer_.size();
    for (size_t i = 0; i < answer_.size(); i += piece) send(fd, &answer_[i], piece, MSG_NOSIGNAL);
    shutdown(fd, SHUT_WR);
    // Reads until the client has received everything and closes.
    while (recv(fd, buffer, sizeof(buffer), 0) > 0) continue;
    close(fd);
  }

  const std::string answer_;
  int listener_ = -1;
  std::string origin_, asked_;
  std::thread thread_;
};

struct Ending {
  std::string body, failure;
  unsigned status = 0;
  bool is_stream = false;
};

Ending ask(const std::string& answer, std::string* asked = nullptr) {
  Ending ending;
  OneAnswer server(answer);
  ManyClient client(server.origin(), steady_seconds);
  client.start(7, {server.origin() + "/p?q", {"Accept: x"}, "{}"});
  bool ended = false;
  while (!ended) {
    std::vector<ReplyEvent> events;
    client.wait(1, &events);
    for (const ReplyEvent& event : events) {
      EXPECT_EQ(event.id, 7u);
      EXPECT_LE(event.when, steady_seconds());
      EXPECT_FALSE(ended);
      ended = event.kind != ReplyEvent::Kind::kBody;
      bool failed = event.kind == ReplyEvent::Kind::kFailed;
      (failed ? ending.failure : ending.body) += failed ? event.failure : event.text;
      ending.status = event.status;
      ending.is_stream = event.is_stream;
    }
  }
  client.abandon(7);
  if (asked != nullptr) *asked = server.asked();
  return ending;
}

TEST(ManyClient, SendsWhatIsAsked) {
  std::string asked;
  EXPECT_EQ(ask("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", &asked).failure, "");
  EXPECT_TRUE(asked.starts_with("POST /p?q HTTP/1.1\r\nHost: 127.0.0.1:")) << asked;
  EXPECT_NE(asked.find("\r\nAccept: x\r\n"), std::string::npos) << asked;
  EXPECT_NE(asked.find("\r\nContent-Length: 2\r\n"), std::string::npos) << asked;
  EXPECT_EQ(asked.find("Expect"), std::string::npos) << asked;
}

TEST(ManyClient, BodiesOfThreeKinds) {
  Ending length = ask("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcdef");
  EXPECT_EQ(length.body, "abc");
  EXPECT_EQ(length.failure, "");
  EXPECT_FALSE(length.is_stream);
  Ending chunked = ask(
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: "
      "Text/event-stream; charset=utf-8\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n");
  EXPECT_EQ(chunked.body, "abc0123456789");
  EXPECT_EQ(chunked.status, 200u);
  EXPECT_TRUE(chunked.is_stream);
  Ending rest = ask("HTTP/1.0 404 Not Found\r\n\r\nall of it");
  EXPECT_EQ(rest.body, "all of it");
  EXPECT_EQ(rest.status, 404u);
  EXPECT_EQ(rest.failure, "");
}

TEST(ManyClient, DistinguishesCutRepliesFromMalformedOnes) {
  for (const char* cut : {"", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc",
                          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"}) {
    EXPECT_EQ(ask(cut).failure, "cut short") << cut;
  }
  for (const char* bad :
       {"hello\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"}) {
    EXPECT_EQ(ask(bad).failure, "malformed") << bad;
  }
  std::string endless = "HTTP/1.1 200 OK\r\nX: " + std::string(400'000, 'x');
  EXPECT_EQ(ask(endless).failure, "malformed");
}

TEST(ManyClient, NeedsAServer) {
  int taken = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* any = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(taken, any, size), 0);
  ASSERT_EQ(getsockname(taken, any, &size), 0);
  // Nothing listens at this port.
  std::string origin = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  EXPECT_THROW(ManyClient(origin, steady_seconds), Error);
  close(taken);
}

}  // namespace
}  // namespace hearth
