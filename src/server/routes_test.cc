#include "server/routes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "server/page.h"

namespace hearth {
namespace {

// Returns the path of the route that a path leads to.
std::string_view route_of(std::string_view path) {
  const Route* route = find_route(path);
  return route != nullptr ? route->path : "nowhere";
}

TEST(Routes, FindHandlersByPath) {
  for (const char* path : {"/", "/v1/models", "/v1/chat/completions"}) {
    EXPECT_EQ(route_of(path), path);
  }
  EXPECT_EQ(route_of("/page/app.js"), "/page/");
  EXPECT_EQ(route_of("/v1/models/a%2Fb"), "/v1/models/");
  for (const char* path : {"", "/v1", "/v1/models/", "/page", "/page/", "/healthy", "//"}) {
    EXPECT_EQ(route_of(path), "nowhere") << path;
  }
}

TEST(Routes, AnswerAllOnTheirOwnPath) {
  std::set<std::string_view> paths;
  for (const Route& route : routes()) {
    EXPECT_NE(route.answer, nullptr) << route.path;
    EXPECT_TRUE(paths.insert(route.path).second) << route.path;
  }
}

TEST(Routes, TakeTheirMethodAndHead) {
  EXPECT_TRUE(takes(*find_route("/health"), "GET"));
  EXPECT_TRUE(takes(*find_route("/health"), "HEAD"));
  EXPECT_FALSE(takes(*find_route("/health"), "POST"));
  EXPECT_TRUE(takes(*find_route("/tokenize"), "POST"));
  EXPECT_FALSE(takes(*find_route("/tokenize"), "HEAD"));
}

// Only these routes need no key: other routes would show strangers what clients asked.
TEST(Routes, PageAndHealthAloneNeedNoKey) {
  for (const Route& route : routes()) {
    constexpr std::string_view kHarmless[] = {"/health", "/live", "/", "/page/"};
    bool harmless = std::ranges::find(kHarmless, route.path) != std::end(kHarmless);
    EXPECT_EQ(route.open, harmless) << route.path;
  }
}

TEST(Routes, UndoPercentEscapes) {
  EXPECT_EQ(percent_decoded("a%2Fb%20c"), "a/b c");
  EXPECT_EQ(percent_decoded("100%"), "100%");
  EXPECT_EQ(percent_decoded("%4"), "%4");
}

TEST(Page, IsServedWithAStrictPolicy) {
  for (const char* path : {"/", "/page/style.css", "/page/app.js"}) {
    std::optional<HttpReply> file = page_file(path);
    ASSERT_TRUE(file) << path;
    EXPECT_FALSE(file->body.empty());
    EXPECT_EQ(file->fields.at(0).first, "Content-Security-Policy");
    EXPECT_EQ(file->fields.at(0).second.find("unsafe"), std::string::npos);
  }
  EXPECT_FALSE(page_file("/page/other"));
}

}  // namespace
}  // namespace hearth
