#include "bench/serve_http.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace hearth {
namespace {

TEST(ServeUrl, PartsOfAddresses) {
  ServeUrl url = parse_serve_url("http://127.0.0.1:8080");
  EXPECT_EQ(url.host, "127.0.0.1");
  EXPECT_EQ(url.port, "8080");
  EXPECT_EQ(url.authority, "127.0.0.1:8080");
  EXPECT_EQ(url.base, "");
  EXPECT_EQ(parse_serve_url("http://host/").port, "80");
  EXPECT_EQ(parse_serve_url("http://host:1/v1/").base, "");
  EXPECT_EQ(parse_serve_url("http://host:1/llm/v1").base, "/llm");
  ServeUrl six = parse_serve_url("http://[::1]:9/x");
  EXPECT_EQ(six.host, "::1");
  EXPECT_EQ(six.port, "9");
  EXPECT_EQ(six.authority, "[::1]:9");
  EXPECT_EQ(parse_serve_url("http://[::1]").port, "80");
  for (const char* bad :
       {"", "host:80", "https://host", "http://", "http://:80", "http://h:", "http://h:0",
        "http://h:65536", "http://h:8x", "http://h/a?b", "http://[]", "http://[::1", "http://u@h",
        "http://h/ x", "http://h/\r\nA: b"}) {
    EXPECT_THROW(parse_serve_url(bad), Error) << bad;
  }
}

TEST(HttpRequest, HasAKeyWhereThereIsOne) {
  ServeUrl url = parse_serve_url("http://h:1/p");
  std::string post = http_request(url, "/v1/completions", "sk-1", "{}");
  EXPECT_TRUE(post.starts_with("POST /p/v1/completions HTTP/1.1\r\nHost: h:1\r\n")) << post;
  EXPECT_NE(post.find("\r\nAuthorization: Bearer sk-1\r\n"), std::string::npos);
  EXPECT_TRUE(post.ends_with("\r\nContent-Length: 2\r\n\r\n{}")) << post;
  std::string get = http_request(url, "/v1/models", "", {});
  EXPECT_TRUE(get.starts_with("GET /p/v1/models HTTP/1.1\r\n"));
  EXPECT_EQ(get.find("Authorization"), std::string::npos);
  EXPECT_TRUE(get.ends_with("\r\n\r\n"));
}

struct Reading {
  unsigned status = 0;
  bool events = false, done = false;
  std::string body, problem;
  bool operator==(const Reading&) const = default;
};

// Reads it in pieces of `step` bytes.
Reading read_reply(std::string_view bytes, size_t step, bool close) {
  HttpReplyReader reader;
  Reading out;
  for (size_t i = 0; i < bytes.size(); i += step) reader.take(bytes.substr(i, step), &out.body);
  if (close) reader.close();
  out.status = reader.status();
  out.events = reader.is_event_stream();
  out.done = reader.done();
  out.problem = reader.problem();
  return out;
}

Reading read_any_way(std::string_view bytes, bool close = false) {
  Reading whole = read_reply(bytes, std::max<size_t>(bytes.size(), 1), close);
  for (size_t step : {1, 2, 3, 7}) {
    Reading pieces = read_reply(bytes, step, close);
    EXPECT_EQ(pieces, whole) << bytes << " in pieces of " << step;
  }
  return whole;
}

TEST(HttpReply, BodiesOfThreeKinds) {
  Reading length = read_any_way("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcdef");
  EXPECT_EQ(length.body, "abc");
  EXPECT_TRUE(length.done);
  Reading chunked = read_any_way(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\nContent-Type: text/event-stream; "
      "charset=utf-8\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nT: r\r\n\r\nmore");
  EXPECT_EQ(chunked.body, "abc0123456789");
  EXPECT_TRUE(chunked.done);
  EXPECT_TRUE(chunked.events);
  Reading rest = read_any_way("HTTP/1.0 404 Not Found\r\n\r\nall of it", true);
  EXPECT_EQ(rest.body, "all of it");
  EXPECT_EQ(rest.status, 404u);
  EXPECT_TRUE(rest.done);
  EXPECT_TRUE(read_any_way("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").done);
  EXPECT_TRUE(read_any_way("HTTP/1.1 204 No Content\r\n\r\n").done);
  Reading late = read_any_way(
      "HTTP/1.1 100 Continue\r\nContent-Length: 9\r\n\r\nHTTP/1.1 201 Made\nContent-Length: "
      "1\n\nx");
  EXPECT_EQ(late.status, 201u);
  EXPECT_EQ(late.body, "x");
}

TEST(HttpReply, WhatIsCutShortOrNoHttp) {
  for (const char* cut : {"", "HTTP/1.1 200", "HTTP/1.1 200 OK\r\n\r", "HTTP/1.1 200 OK\r\n",
                          "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc",
                          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
                          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"}) {
    Reading reading = read_any_way(cut, true);
    EXPECT_FALSE(reading.done) << cut;
    EXPECT_NE(reading.problem.find("ended before"), std::string::npos) << cut;
  }
  for (const char* bad :
       {"hello\r\n\r\n", "HTTP/1.1 abc\r\n\r\n", "HTTP/1.1 099 x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n"}) {
    EXPECT_FALSE(read_any_way(bad).problem.empty()) << bad;
  }
  std::string endless = "HTTP/1.1 200 OK\r\nX: " + std::string(100'000, 'x');
  EXPECT_NE(read_any_way(endless).problem.find("no end"), std::string::npos);
}

std::vector<std::string> read_events(std::string_view bytes, size_t step, bool amid = false) {
  EventReader reader;
  std::vector<std::string> out;
  for (size_t i = 0; i < bytes.size(); i += step) reader.take(bytes.substr(i, step), &out);
  EXPECT_EQ(reader.amid(), amid) << bytes;
  return out;
}

TEST(EventReader, DataOfEvents) {
  using Events = std::vector<std::string>;
  for (size_t step : {1, 2, 5, 1000}) {
    EXPECT_EQ(
        read_events("data: a\n\n: silence\n\ndata:b\r\n\r\nevent: x\nid: 7\ndata: c\n\n", step),
        (Events{"a", "b", "c"}));
    EXPECT_EQ(read_events("data: a\ndata:  b\ndata\n\n", step), (Events{"a\n b\n"}));
    EXPECT_EQ(read_events("data: a\r\rdata: b\r\r", step), (Events{"a", "b"}));
    EXPECT_EQ(read_events("data: a\n", step, true), Events{});
    EXPECT_EQ(read_events("data: a\n\nda", step, true), Events{"a"});
  }
}

}  // namespace
}  // namespace hearth
