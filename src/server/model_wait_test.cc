#include "server/model_wait.h"

#include <gtest/gtest.h>

#include "server/request_error.h"

namespace hearth {
namespace {

TEST(ModelWait, ReadsDurations) {
  EXPECT_EQ(read_duration("5m"), 300);
  EXPECT_EQ(read_duration("1h30m"), 5400);
  EXPECT_EQ(read_duration("1.5s"), 1.5);
  EXPECT_EQ(read_duration("-1s"), -1);
  EXPECT_EQ(read_duration("0"), 0);
  EXPECT_EQ(read_duration("300"), 300);
  EXPECT_EQ(read_duration("250ms"), 0.25);
  for (const char* text : {"", "-", "m", "5x", "5m3", "nan", "inf", "1e5s", "--1s", "5 m"}) {
    EXPECT_EQ(read_duration(text), std::nullopt) << text;
  }
}

TEST(ModelWait, ReadsWhatABodySaysOfItsModel) {
  auto read = [](const char* body, HttpDialect dialect = HttpDialect::kEvents) {
    return read_asked_model(body, 10, dialect);
  };
  EXPECT_EQ(read(R"({"model": "a", "stream": true})").name, "a");
  EXPECT_TRUE(read(R"({"model": "a", "stream": true})").streams);
  EXPECT_FALSE(read("{}").streams);
  EXPECT_TRUE(read("{}", HttpDialect::kLines).streams);
  EXPECT_FALSE(read(R"({"stream": false})", HttpDialect::kLines).streams);
  EXPECT_EQ(read(R"({"keep_alive": "10m"})").keep_seconds, 600);
  EXPECT_EQ(read(R"({"ttl": 60})").keep_seconds, 60);
  EXPECT_EQ(read(R"({"keep_alive": [1]})").keep_seconds, std::nullopt);
  auto lets_go = [&](const char* body) { return read(body, HttpDialect::kLines).lets_go; };
  EXPECT_TRUE(lets_go(R"({"keep_alive": 0})"));
  EXPECT_TRUE(lets_go(R"({"keep_alive": "0s", "prompt": "", "messages": []})"));
  EXPECT_FALSE(lets_go(R"({"keep_alive": 0, "prompt": "a"})"));
  EXPECT_FALSE(lets_go(R"({"keep_alive": 0, "messages": [1]})"));
  EXPECT_FALSE(lets_go(R"({"keep_alive": 1})"));
  EXPECT_FALSE(lets_go("{}"));
  EXPECT_FALSE(read(R"({"keep_alive": 0})").lets_go);
  EXPECT_THROW(read("{"), RequestError);
  EXPECT_THROW(read("[]"), RequestError);
  EXPECT_THROW(read(R"({"model": 1})"), RequestError);
}

}  // namespace
}  // namespace hearth
