#include "server/origin.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace hearth {
namespace {

TEST(OriginTest, DefaultPortsEqualNone) {
  EXPECT_EQ(parse_origin("https://A.example:443"), parse_origin("HTTPS://a.example"));
  EXPECT_EQ(parse_origin("http://a:80"), parse_origin("http://a"));
  EXPECT_NE(parse_origin("http://a:443"), parse_origin("http://a"));
  EXPECT_NE(parse_origin("http://a"), parse_origin("https://a"));
  EXPECT_NE(parse_origin("http://a:8080"), parse_origin("http://a"));
  EXPECT_EQ(origin_of_host("https", "a:443"), parse_origin("https://a"));
  EXPECT_EQ(origin_of_host("http", "[::1]:80"), parse_origin("http://[::1]"));
  EXPECT_EQ(origin_of_host("http", "[::1]"), parse_origin("http://[::1]"));
  EXPECT_EQ(origin_of_host("http", "a:"), parse_origin("http://a"));
}

TEST(OriginTest, RefusesMalformedOrigins) {
  for (const char* text : {"", "null", "a", "a:80", "://a", "http://", "http://a/", "http://a b",
                           "http://u@a", "http://a:b", "http://a:123456", "http://*", "1a://b"}) {
    EXPECT_FALSE(parse_origin(text)) << text;
  }
  for (const char* text :
       {"http://a", "tauri://localhost", "chrome-extension://abc", "http://[::1]:1"}) {
    EXPECT_TRUE(parse_origin(text)) << text;
  }
}

TEST(OriginTest, ReadsOriginsOfTheCommandLine) {
  EXPECT_EQ(origin_option("https://Chat.Example:443/"), "https://chat.example");
  EXPECT_EQ(origin_option("http://a:8080"), "http://a:8080");
  for (const char* text : {"*", "null", "tauri://localhost", "http://tauri.localhost"}) {
    EXPECT_EQ(origin_option(text), text);
  }
  for (const char* text : {"", "a.example", "http://a/path", "http://*.a", "Null"}) {
    EXPECT_THROW(origin_option(text), Error) << text;
  }
}

}  // namespace
}  // namespace hearth
