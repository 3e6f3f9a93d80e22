#include "bench/serve_url.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace hearth {
namespace {

TEST(ServeUrl, PartsOfAddresses) {
  ServeUrl url = parse_serve_url("http://127.0.0.1:8080");
  EXPECT_EQ(url.authority, "127.0.0.1:8080");
  EXPECT_EQ(url.base, "");
  EXPECT_EQ(parse_serve_url("http://host/").origin(), "http://host");
  EXPECT_EQ(parse_serve_url("http://host:1/v1/").base, "");
  EXPECT_EQ(parse_serve_url("http://host:1/llm/v1").base, "/llm");
  ServeUrl six = parse_serve_url("http://[::1]:9/x");
  EXPECT_EQ(six.authority, "[::1]:9");
  EXPECT_EQ(parse_serve_url("http://[::1]").authority, "[::1]");
  for (const char* bad :
       {"", "host:80", "https://host", "http://", "http://:80", "http://h:", "http://h:0",
        "http://h:65536", "http://h:8x", "http://h/a?b", "http://[]", "http://[::1",
        "http://[::1]9", "http://u@h", "http://h/ x", "http://h/\r\nA: b"}) {
    EXPECT_THROW(parse_serve_url(bad), Error) << bad;
  }
}

TEST(ServeRequest, HasAKeyWhereThereIsOne) {
  ServeUrl url = parse_serve_url("http://h:1/p");
  ClientRequest post = serve_request(url, "/v1/completions", "sk-1", "{}");
  EXPECT_EQ(post.url, "http://h:1/p/v1/completions");
  EXPECT_EQ(post.fields, (std::vector<std::string>{
                             "Connection: close", "Authorization: Bearer sk-1",
                             "Accept: text/event-stream", "Content-Type: application/json"}));
  EXPECT_EQ(post.body, "{}");
  ClientRequest get = serve_request(url, "/v1/models", "", {});
  EXPECT_EQ(get.url, "http://h:1/p/v1/models");
  EXPECT_EQ(get.fields,
            (std::vector<std::string>{"Connection: close", "Accept: application/json"}));
  EXPECT_FALSE(get.body);
}

}  // namespace
}  // namespace hearth
