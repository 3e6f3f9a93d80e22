#include "server/request_log.h"

#include <gtest/gtest.h>

#include <boost/json/object.hpp>

#include "base/json_reader.h"

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
  entry.finish = "length";
  return entry;
}

TEST(RequestLog, WritesALine) {
  EXPECT_EQ(
      log_line(completion()),
      "127.0.0.1 POST /v1/completions 200 1.250 s, 12 (4 cached) + 64 tokens, queued 0.500 s, "
      "first token 0.750 s, length [r1]");
  LogEntry plain{.id = "r2", .peer = "::1", .method = "GET", .path = "/health"};
  plain.status = 200;
  EXPECT_EQ(log_line(plain), "::1 GET /health 200 0.000 s [r2]");
  plain.prompt_tokens = 7;
  EXPECT_EQ(log_line(plain), "::1 GET /health 200 0.000 s, 7 tokens [r2]");
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
  EXPECT_EQ(object.at("finish").as_string(), "length");
  LogEntry plain;
  EXPECT_TRUE(read_json(log_json(plain)).as_object().at("prompt_tokens").is_null());
}

}  // namespace
}  // namespace hearth
