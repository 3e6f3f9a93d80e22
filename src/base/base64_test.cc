#include "base/base64.h"

#include <gtest/gtest.h>

#include <random>

namespace hearth {
namespace {

std::string encode(std::string_view bytes) {
  return base64_encode(std::as_bytes(std::span(bytes)));
}

// The test vectors of RFC 4648, section 10.
TEST(Base64, Rfc4648) {
  constexpr std::pair<const char*, const char*> kVectors[] = {{"", ""},
                                                              {"f", "Zg=="},
                                                              {"fo", "Zm8="},
                                                              {"foo", "Zm9v"},
                                                              {"foob", "Zm9vYg=="},
                                                              {"fooba", "Zm9vYmE="},
                                                              {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : kVectors) {
    EXPECT_EQ(encode(bytes), text);
    EXPECT_EQ(base64_decode(text), bytes);
  }
  EXPECT_EQ(encode("\xFB\xFF\xFE"), "+//+");
}

TEST(Base64, AllBytesRoundTrip) {
  std::mt19937 random(1);
  for (size_t size = 0; size < 300; ++size) {
    std::string bytes(size, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    EXPECT_EQ(base64_decode(encode(bytes)), bytes);
  }
}

TEST(Base64, RefusesMalformedText) {
  for (const char* text : {"Z", "Zg", "Zg=", "Zg===", "====", "Z===", "=AAA", "Zg==Zg==", "Zm9\n",
                           "Zm9v\n", "Zm 9", "Zm-_", "Zh==", "Zm9=", "Zm=v", "\xC3\xA4gg"}) {
    EXPECT_FALSE(base64_decode(text)) << text;
  }
}

}  // namespace
}  // namespace hearth
