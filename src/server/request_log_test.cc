#include "server/request_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <boost/json/object.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "base/json_reader.h"
#include "base/tell.h"

namespace hearth {
namespace {

LogEntry completion() {
  LogEntry entry{.id = "r1", .peer = "127.0.0.1", .method = "POST", .path = "/v1/completions"};
  entry.status = 200;
  entry.seconds = 1.25;
  entry.prompt_tokens = 12;
  entry.cached_tokens = 4;
  entry.generated_tokens = 64;
  entry.queue_seconds = 0.5;
  entry.first_token_seconds = 0.75;
  entry.tokens_per_second = 126;
  entry.finish = "length";
  return entry;
}

TEST(RequestLog, WritesALine) {
  EXPECT_EQ(
      log_line(completion()),
      "127.0.0.1 POST /v1/completions 200 1.250 s, 12 (4 cached) + 64 tokens, queued 0.500 s, "
      "first token 0.750 s, 126.0 tokens/s, length [r1]");
  LogEntry plain{.id = "r2", .peer = "::1", .method = "GET", .path = "/health"};
  plain.status = 200;
  EXPECT_EQ(log_line(plain), "::1 GET /health 200 0.000 s [r2]");
  plain.prompt_tokens = 7;
  EXPECT_EQ(log_line(plain), "::1 GET /health 200 0.000 s, 7 tokens [r2]");
}

TEST(RequestLog, NamesRelaxedSchemas) {
  LogEntry entry = completion();
  entry.relaxed = "tools[0].function.parameters: x";
  const std::string line = log_line(entry);
  EXPECT_NE(line.find("length, not held: tools[0].function.parameters: x [r1]"), line.npos) << line;
  EXPECT_EQ(read_json(log_json(entry)).at("relaxed"), "tools[0].function.parameters: x");
}

TEST(RequestLog, LetsNoPathEndItsLine) {
  LogEntry entry{.id = "r3", .peer = "::1", .method = "GET", .path = "/a\n127.0.0.1 GET\x1b[2J"};
  std::string line = log_line(entry);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(line.find('\x1b'), std::string::npos);
}

TEST(RequestLog, WritesJson) {
  boost::json::object object = read_json(log_json(completion())).as_object();
  EXPECT_EQ(object.at("generated_tokens").to_number<int>(), 64);
  EXPECT_EQ(object.at("tokens_per_second").to_number<double>(), 126);
  EXPECT_EQ(object.at("finish").as_string(), "length");
  LogEntry plain;
  EXPECT_FALSE(read_json(log_json(plain)).as_object().contains("prompt_tokens"));
}

TEST(RequestLog, NamesTheTraceOfARequest) {
  const std::string trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  HttpRequest request;
  request.fields = {{"traceparent", trace}};
  EXPECT_EQ(read_json(log_json(log_entry(request, 200))).at("traceparent"), trace.c_str());
  EXPECT_NE(log_line(log_entry(request, 200)).find(", trace " + trace), std::string::npos);
  for (const char* other : {"", "00", "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-\n"}) {
    request.fields[0].second = other;
    EXPECT_EQ(log_entry(request, 200).trace, "") << other;
  }
}

// A log that writes to a pipe, and the pipe's other end.
class LogPipe {
 public:
  LogPipe() { EXPECT_EQ(pipe(fds_.data()), 0); }
  ~LogPipe() {
    close_writer();
    close(fds_[0]);
  }
  LogPipe(const LogPipe&) = delete;
  LogPipe& operator=(const LogPipe&) = delete;

  int writer() const { return fds_[1]; }
  void close_writer() {
    if (fds_[1] >= 0) close(std::exchange(fds_[1], -1));
  }
  void fill() const {
    for (std::string_view rest = "\n"; write_now(writer(), &rest) == WriteEnd::kAll;) rest = "\n";
  }
  std::string read_some() const {
    std::string text(1 << 16, '\0');
    const ssize_t got = read(fds_[0], text.data(), text.size());
    text.resize(got > 0 ? static_cast<size_t>(got) : 0);
    return text;
  }

 private:
  std::array<int, 2> fds_ = {-1, -1};
};

TEST(RequestLog, CountsLostLines) {
  constexpr uint64_t kWritten = 20'000;
  LogPipe pipe;
  pipe.fill();
  std::string all;
  {
    RequestLog log(RequestLog::Form::kJson, pipe.writer());
    for (uint64_t i = 0; i < kWritten; ++i) log.write(completion());
    while (all.find("lost_lines") == std::string::npos) all += pipe.read_some();
  }
  pipe.close_writer();
  for (std::string more; !(more = pipe.read_some()).empty();) all += more;
  uint64_t lost = 0, there = 0;
  std::istringstream lines(all);
  for (std::string line; std::getline(lines, line);) {
    // Skips the lines that filled the pipe, and the last one, which may be cut.
    if (line.empty() || line.back() != '}') continue;
    const boost::json::object object = read_json(line).as_object();
    if (const boost::json::value* count = object.if_contains("lost_lines")) {
      lost += count->to_number<uint64_t>();
    } else {
      ++there;
    }
  }
  EXPECT_GT(lost, 0u);
  EXPECT_GT(there, 0u);
  EXPECT_LE(lost + there, kWritten);
}

TEST(RequestLog, EndsWithoutAReader) {
  LogPipe pipe;
  pipe.fill();
  RequestLog log(RequestLog::Form::kText, pipe.writer());
  for (int i = 0; i < 3; ++i) log.write(completion());
}

TEST(RequestLog, DropsLinesThatCannotBeWritten) {
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  for (const int fd : {full, -1}) {
    RequestLog log(RequestLog::Form::kText, fd);
    log.write(completion());
  }
  close(full);
}

}  // namespace
}  // namespace hearth
