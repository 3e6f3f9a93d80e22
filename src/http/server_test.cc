#include "http/server.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace hearth {
namespace {

TEST(HttpServer, ReportsExceptionsOfCallsAndGoesOn) {
  std::vector<std::string> reported;
  HttpServer server(
      {.port = 0}, [](HttpRequest&) { return std::optional<HttpReply>(); },
      [](const std::shared_ptr<Exchange>&) {}, [](const HttpRequest&, const ApiError&) {},
      [](const HttpRequest&) { return HttpFields(); },
      [&](const std::exception& thrown) { reported.push_back(thrown.what()); });
  bool went_on = false;
  server.post([] { throw std::runtime_error("one"); });
  server.post([] { throw std::runtime_error("two"); });
  server.post([&] { went_on = true; });
  server.stop();
  server.run();
  EXPECT_EQ(reported, (std::vector<std::string>{"one", "two"}));
  EXPECT_TRUE(went_on);
}

}  // namespace
}  // namespace hearth
