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
  EXPECT_TRUE(guard.knows_key(with({{"authorization", "Bearer other"}, {"x-api-key", "first"}})));
  EXPECT_TRUE(guard.knows_key(with({{"x-api-key", "other"}, {"authorization", "Bearer first"}})));
  EXPECT_FALSE(guard.knows_key(with({{"authorization", "Bearer other"}, {"x-api-key", "no"}})));
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

bool from_elsewhere(const Guard& guard, const char* host, const char* origin) {
  return guard.from_elsewhere(with({{"host", host}, {"origin", origin}}));
}

TEST(Guard, SeesPagesOfOtherOrigins) {
  Guard guard({}, {});
  auto from = [&](const char* origin) { return from_elsewhere(guard, "localhost:8080", origin); };
  EXPECT_FALSE(from("http://localhost:8080"));
  EXPECT_FALSE(from("https://LOCALHOST:8080"));
  EXPECT_TRUE(from("http://localhost:9090"));
  EXPECT_TRUE(from("https://evil.example"));
  EXPECT_TRUE(from("null"));
  EXPECT_TRUE(from_elsewhere(guard, "localhost", "tauri://localhost"));
  EXPECT_FALSE(guard.from_elsewhere(with({{"host", "localhost:8080"}})));
}

TEST(Guard, DefaultPortsAndNamesOfTheOperatorAreItsOwn) {
  Guard guard({}, {"models.example"}, "listens.example");
  EXPECT_FALSE(from_elsewhere(guard, "10.0.0.1:443", "https://10.0.0.1"));
  EXPECT_FALSE(from_elsewhere(guard, "10.0.0.1", "http://10.0.0.1:80"));
  EXPECT_TRUE(from_elsewhere(guard, "10.0.0.1:443", "http://10.0.0.1"));
  for (const char* host : {"127.0.0.1:8080", "models.example", "models.example:443"}) {
    for (const char* origin : {"https://models.example", "http://Models.Example:8443"}) {
      EXPECT_FALSE(from_elsewhere(guard, host, origin)) << host << " " << origin;
    }
    EXPECT_TRUE(from_elsewhere(guard, host, "https://models.example.evil")) << host;
    EXPECT_TRUE(from_elsewhere(guard, host, "tauri://models.example")) << host;
  }
  // The server listens at listens.example, but the operator did not give that name. So a page at
  // this address is the server's own only at the same port.
  EXPECT_TRUE(guard.knows_host(with({{"host", "listens.example:1"}})));
  EXPECT_FALSE(from_elsewhere(guard, "listens.example:8080", "http://listens.example:8080"));
  EXPECT_TRUE(from_elsewhere(guard, "listens.example:8080", "http://listens.example:9090"));
}

TEST(Guard, AKeySufficesWhereverAPageIsFrom) {
  Guard guard({"secret"}, {});
  auto from = [&](const char* origin, const char* key) {
    return guard.from_elsewhere(
        with({{"host", "localhost"}, {"origin", origin}, {"x-api-key", key}}));
  };
  for (const char* origin : {"http://tauri.localhost", "https://elsewhere.example", "null", "?"}) {
    EXPECT_FALSE(from(origin, "secret")) << origin;
    EXPECT_TRUE(from(origin, "wrong")) << origin;
    EXPECT_TRUE(from(origin, "")) << origin;
  }
}

TEST(Guard, AllowedOriginsMayAskAndRead) {
  Guard guard({}, {}, "", {"https://chat.example", "tauri://localhost", "null"});
  for (const char* origin :
       {"https://chat.example", "https://chat.example:443", "tauri://localhost", "null"}) {
    EXPECT_FALSE(from_elsewhere(guard, "localhost", origin)) << origin;
    HttpFields fields = guard.cors_fields(with({{"origin", origin}}));
    EXPECT_EQ(fields.at(0), HttpFields::value_type("Vary", "Origin"));
    EXPECT_EQ(fields.at(1), HttpFields::value_type("Access-Control-Allow-Origin", origin));
  }
  for (const char* origin : {"http://chat.example", "https://chat.example:8443", "https://a", ""}) {
    EXPECT_TRUE(from_elsewhere(guard, "localhost", origin)) << origin;
    EXPECT_EQ(guard.cors_fields(with({{"origin", origin}})).size(), 1u) << origin;
  }
  EXPECT_TRUE(Guard({}, {}).cors_fields(with({{"origin", "https://chat.example"}})).empty());
  EXPECT_FALSE(from_elsewhere(Guard({}, {}, "", {"*"}), "localhost", "https://any.example"));
}

TEST(Guard, AnswersPreflightsOfAllowedOrigins) {
  Guard guard({"secret"}, {}, "", {"https://chat.example"});
  HttpRequest request = with({{"origin", "https://chat.example"},
                              {"access-control-request-method", "POST"},
                              {"access-control-request-headers", "x-stainless-os"}});
  EXPECT_FALSE(guard.preflight(request));  // without the method that the page wants to use
  request.method = "OPTIONS";
  std::optional<HttpReply> reply = guard.preflight(request);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 204u);
  EXPECT_EQ(reply->fields.at(1),
            HttpFields::value_type("Access-Control-Allow-Headers", "x-stainless-os"));
  request.fields[0].second = "https://elsewhere.example";
  EXPECT_FALSE(guard.preflight(request));
}

TEST(Guard, RecognizesLoopbackAddresses) {
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
  const std::string mark = "\xef\xbb\xbf";
  EXPECT_EQ(keys_of(mark + "alpha\n"), (std::vector<std::string>{"alpha"}));
  EXPECT_EQ(keys_of(mark + "# ours\nalpha\n"), (std::vector<std::string>{"alpha"}));
  EXPECT_THROW(keys_of("alpha\n" + mark + "beta\n"), Error);
  EXPECT_THROW(keys_of(mark), Error);
  EXPECT_THROW(keys_of(""), Error);
  EXPECT_THROW(keys_of("# nothing\n"), Error);
  EXPECT_THROW(keys_of("two words\n"), Error);
  std::filesystem::remove(path);
  EXPECT_THROW(read_keys(path.string()), Error);
}

TEST(Guard, RequestsWithOneKeyAreOneClient) {
  HttpRequest request;
  request.client = "192.0.2.1";
  EXPECT_EQ(Guard({}, {}).client_of(request), "192.0.2.1");
  Guard guard({"first", "second"}, {});
  EXPECT_EQ(guard.client_of(request), "192.0.2.1") << "open routes need none";
  request.fields = {{"authorization", "Bearer second"}};
  EXPECT_EQ(guard.client_of(request), "key 2");
  request.fields = {{"x-api-key", "first"}};
  EXPECT_EQ(guard.client_of(request), "key 1");
  request.fields = {{"x-api-key", "third"}};
  EXPECT_EQ(guard.client_of(request), "192.0.2.1");
  EXPECT_EQ(Guard({}, {}).client_of(request), "192.0.2.1") << "where anybody may ask no key counts";
}

}  // namespace
}  // namespace hearth
