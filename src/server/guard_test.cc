#include "server/guard.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"

namespace hearth {
namespace {

HttpRequest with(std::vector<std::pair<std::string, std::string>> fields) {
  HttpRequest request;
  request.fields = std::move(fields);
  return request;
}

TEST(Guard, KnowsKeys) {
  Guard guard({"first", "second-key"}, {});
  EXPECT_TRUE(guard.knows_key(with({{"authorization", "Bearer first"}})));
  EXPECT_TRUE(guard.knows_key(with({{"authorization", "bearer second-key"}})));
  EXPECT_TRUE(guard.knows_key(with({{"x-api-key", "second-key"}})));
  for (const char* value : {"Bearer", "Bearer ", "Bearer firs", "Bearer firstfirst", "Basic first",
                            "first", "Bearer  first", "Bearer first "}) {
    EXPECT_FALSE(guard.knows_key(with({{"authorization", value}}))) << value;
  }
  EXPECT_FALSE(guard.knows_key(with({{"x-api-key", ""}})));
  EXPECT_FALSE(guard.knows_key(with({})));
  EXPECT_TRUE(Guard({}, {}).knows_key(with({})));
}

TEST(Guard, AnswersToItsOwnNamesAndToAddresses) {
  Guard guard({}, {"Models.Example"});
  for (const char* host : {"localhost", "LOCALHOST:8080", "127.0.0.1:1", "192.168.1.20:8080",
                           "[::1]:8080", "[fe80::1]", "models.example:80"}) {
    EXPECT_TRUE(guard.knows_host(with({{"host", host}}))) << host;
  }
  for (const char* host : {"evil.example", "localhost.evil.example", "127.0.0.1.evil.example",
                           "::1", "", "[::1", "models.example.evil.example"}) {
    EXPECT_FALSE(guard.knows_host(with({{"host", host}}))) << host;
  }
}

TEST(Guard, SeesPagesOfOtherOrigins) {
  auto from = [](const char* origin) {
    return Guard::from_elsewhere(with({{"host", "localhost:8080"}, {"origin", origin}}));
  };
  EXPECT_FALSE(from("http://localhost:8080"));
  EXPECT_FALSE(from("https://LOCALHOST:8080"));
  EXPECT_TRUE(from("http://localhost:9090"));
  EXPECT_TRUE(from("https://evil.example"));
  EXPECT_TRUE(from("null"));
  EXPECT_FALSE(Guard::from_elsewhere(with({{"host", "localhost:8080"}})));
}

TEST(Guard, TellsLoopback) {
  for (const char* host : {"localhost", "127.0.0.1", "127.9.9.9", "::1", "[::1]"}) {
    EXPECT_TRUE(is_loopback(host)) << host;
  }
  for (const char* host : {"0.0.0.0", "::", "10.0.0.1", "example.com", ""}) {
    EXPECT_FALSE(is_loopback(host)) << host;
  }
}

TEST(Guard, ReadsKeysFromAFile) {
  auto path = std::filesystem::temp_directory_path() / "hearth_guard_test_keys";
  auto keys_of = [&](const std::string& text) {
    std::ofstream(path) << text;
    return read_keys(path.string());
  };
  EXPECT_EQ(keys_of("# ours\n\nalpha\r\nbeta\n"), (std::vector<std::string>{"alpha", "beta"}));
  EXPECT_THROW(keys_of(""), Error);
  EXPECT_THROW(keys_of("# nothing\n"), Error);
  EXPECT_THROW(keys_of("two words\n"), Error);
  std::filesystem::remove(path);
  EXPECT_THROW(read_keys(path.string()), Error);
}

}  // namespace
}  // namespace hearth
