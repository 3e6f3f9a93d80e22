#include "server/routes.h"

#include <gtest/gtest.h>

#include "server/page.h"

namespace hearth {
namespace {

std::optional<RouteId> route_of(std::string_view path) {
  const Route* route = find_route(path);
  return route != nullptr ? std::optional(route->id) : std::nullopt;
}

TEST(Routes, LeadToWhatIsThere) {
  EXPECT_EQ(route_of("/"), RouteId::kPage);
  EXPECT_EQ(route_of("/page/app.js"), RouteId::kPage);
  EXPECT_EQ(route_of("/v1/models"), RouteId::kModels);
  EXPECT_EQ(route_of("/v1/models/a%2Fb"), RouteId::kModel);
  EXPECT_EQ(route_of("/v1/chat/completions"), RouteId::kChat);
  for (const char* path : {"", "/v1", "/v1/models/", "/page", "/page/", "/healthy", "//"}) {
    EXPECT_EQ(route_of(path), std::nullopt) << path;
  }
}

TEST(Routes, TakeTheirMethodAndHead) {
  EXPECT_TRUE(takes(*find_route("/health"), "GET"));
  EXPECT_TRUE(takes(*find_route("/health"), "HEAD"));
  EXPECT_FALSE(takes(*find_route("/health"), "POST"));
  EXPECT_TRUE(takes(*find_route("/tokenize"), "POST"));
  EXPECT_FALSE(takes(*find_route("/tokenize"), "HEAD"));
}

// A key would be of no use where a route is open that tells what others said.
TEST(Routes, OnlyPageAndHealthAreOpen) {
  for (const Route& route : routes()) {
    bool harmless =
        route.id == RouteId::kHealth || route.id == RouteId::kLive || route.id == RouteId::kPage;
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
