#include "http/framing.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace hearth {
namespace {

std::string block(std::string_view line, std::string_view fields = "") {
  return std::string(line) + "\r\nHost: a\r\n" + std::string(fields) + "\r\n";
}

unsigned status_of(const std::string& bytes) {
  HttpHead head;
  auto refused = parse_head(bytes, head);
  return refused ? refused->status : 200;
}

TEST(HttpFramingTest, ReadsAHead) {
  HttpHead head;
  std::string bytes = block("POST /a/b%20c?d=e?f HTTP/1.1",
                            "CONTENT-length: 012\r\nX:  two words\t\r\nX: again\r\nEmpty:\r\n");
  ASSERT_FALSE(parse_head(bytes, head));
  EXPECT_EQ(head.request.method, "POST");
  EXPECT_EQ(head.request.path, "/a/b%20c");
  EXPECT_EQ(head.request.query, "d=e?f");
  EXPECT_EQ(head.request.minor, 1u);
  EXPECT_EQ(*head.request.find("x"), "two words");
  EXPECT_EQ(*head.request.find("empty"), "");
  EXPECT_EQ(head.request.find("X"), nullptr);
  EXPECT_EQ(head.request.fields.size(), 5u);
  EXPECT_EQ(head.content_length, 12u);
  EXPECT_TRUE(head.keep_alive);
  EXPECT_TRUE(head.has_body());
}

TEST(HttpFramingTest, RefusesContradictoryLengths) {
  auto with = [](std::string_view fields) { return status_of(block("POST / HTTP/1.1", fields)); };
  EXPECT_EQ(with("Transfer-Encoding: Chunked\r\n"), 200u);
  EXPECT_EQ(with("Transfer-Encoding: chunked\r\nContent-Length: 1\r\n"), 400u);
  EXPECT_EQ(with("Content-Length: 1\r\nTransfer-Encoding: gzip\r\n"), 400u);
  EXPECT_EQ(with("Content-Length: 1\r\nContent-Length: 1\r\n"), 400u);
  EXPECT_EQ(with("Content-Length: 1,1\r\n"), 400u);
  EXPECT_EQ(with("Content-Length: -1\r\n"), 400u);
  EXPECT_EQ(with("Content-Length:\r\n"), 400u);
  EXPECT_EQ(with("Transfer-Encoding: gzip\r\n"), 501u);
  EXPECT_EQ(with("Transfer-Encoding: xchunked\r\n"), 501u);
  EXPECT_EQ(with("Transfer-Encoding: chunked, gzip\r\n"), 501u);
  EXPECT_EQ(with("Transfer-Encoding: chunked, chunked\r\n"), 400u);
}

TEST(HttpFramingTest, TheConnectionGoesOnAsTheClientWants) {
  auto keeps = [](std::string_view line, std::string_view fields) {
    HttpHead head;
    EXPECT_FALSE(parse_head(block(line, fields), head));
    return head.keep_alive;
  };
  EXPECT_TRUE(keeps("GET / HTTP/1.1", ""));
  EXPECT_TRUE(keeps("GET / HTTP/1.1", "Connection: disclose\r\n"));
  EXPECT_FALSE(keeps("GET / HTTP/1.1", "Connection: a, Close ,b\r\n"));
  EXPECT_FALSE(keeps("GET / HTTP/1.1", "Connection: keep-alive\r\nConnection: close\r\n"));
  EXPECT_FALSE(keeps("GET / HTTP/1.0", ""));
  EXPECT_TRUE(keeps("GET / HTTP/1.0", "Connection: Keep-Alive\r\n"));
}

TEST(HttpFramingTest, VersionsAndTargets) {
  EXPECT_EQ(status_of(block("GET / HTTP/1.2")), 505u);
  EXPECT_EQ(status_of(block("GET / HTTP/3.0")), 505u);
  EXPECT_EQ(status_of(block("GET / HTTP/x.0")), 400u);
  EXPECT_EQ(status_of(block("GET /")), 400u);
  EXPECT_EQ(status_of(block("OPTIONS * HTTP/1.1")), 200u);
  EXPECT_EQ(status_of(block("GET * HTTP/1.1")), 400u);
  EXPECT_EQ(status_of(block("GET /%2 HTTP/1.1")), 400u);
  EXPECT_EQ(status_of(block("GET /%2g HTTP/1.1")), 400u);
}

TEST(HttpFramingTest, AbsoluteTargets) {
  auto read = [](std::string_view line) {
    HttpHead head;
    EXPECT_FALSE(parse_head(block(line), head)) << line;
    return *head.request.find("host") + " " + head.request.path + " " + head.request.query;
  };
  EXPECT_EQ(read("GET http://b:81/c?d=http://e HTTP/1.1"), "b:81 /c d=http://e");
  EXPECT_EQ(read("GET HTTPS://[::1] HTTP/1.1"), "[::1] / ");
  EXPECT_EQ(read("GET http://b?c HTTP/1.1"), "b / c");
  EXPECT_EQ(read("OPTIONS http://b HTTP/1.1"), "b * ");
  EXPECT_EQ(read("GET /http://b/c HTTP/1.1"), "a /http://b/c ");
  for (const char* target : {"http://", "http:///c", "http://u@b/", "http://b:x/", "ws://b/", "b",
                             "http://b/#c", "http://b/%0", "//"}) {
    unsigned status = status_of(block("GET " + std::string(target) + " HTTP/1.1"));
    EXPECT_EQ(status, target == std::string_view("//") ? 200u : 400u) << target;
  }
}

TEST(HttpFramingTest, FieldsComeInAnyOrder) {
  for (const char* fields : {"Connection: close\r\nExpect: 100-continue\r\n",
                             "Expect: 100-continue\r\nConnection: close\r\n"}) {
    HttpHead head;
    EXPECT_FALSE(parse_head(block("POST / HTTP/1.1", fields), head));
    EXPECT_TRUE(head.expects_continue) << fields;
    EXPECT_FALSE(head.keep_alive) << fields;
  }
  EXPECT_EQ(status_of(block("POST / HTTP/1.1", "Connection: close\r\nExpect: x\r\n")), 417u);
}

TEST(HttpFramingTest, CompressedBodiesAreRefused) {
  auto with = [](std::string_view fields) { return status_of(block("POST / HTTP/1.1", fields)); };
  for (const char* coding : {"gzip", "Deflate", "br", "gzip, identity", "x"}) {
    std::string field = "Content-Encoding: " + std::string(coding) + "\r\n";
    EXPECT_EQ(with(field + "Content-Length: 1\r\n"), 415u) << coding;
    EXPECT_EQ(with(field + "Transfer-Encoding: chunked\r\n"), 415u) << coding;
    EXPECT_EQ(with(field), 200u) << coding;
  }
  EXPECT_EQ(with("Content-Encoding: Identity\r\nContent-Length: 1\r\n"), 200u);
}

TEST(HttpFramingTest, Hosts) {
  auto host = [](std::string_view value) {
    return status_of("GET / HTTP/1.1\r\nHost: " + std::string(value) + "\r\n\r\n");
  };
  for (const char* good : {"a", "a.b-c:1", "127.0.0.1:65535", "[::1]", "[fe80::1]:80", "a:"}) {
    EXPECT_EQ(host(good), 200u) << good;
  }
  for (const char* bad : {"", ":80", "[]", "[::1", "[::1]x", "a:b", "a/b", "a,b", "a:1:2", "::1"}) {
    EXPECT_EQ(host(bad), 400u) << bad;
  }
}

}  // namespace
}  // namespace hearth
