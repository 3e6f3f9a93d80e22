#include "http/chunks.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace hearth {
namespace {

struct Decoded {
  std::string body;
  bool done = false, fault = false;
  size_t taken = 0;
};

Decoded decode(std::string_view bytes, size_t piece) {
  ChunkDecoder decoder;
  Decoded decoded;
  while (decoded.taken < bytes.size() && !decoder.done() && !decoder.fault()) {
    std::string_view data;
    size_t taken = decoder.take(bytes.substr(decoded.taken, piece), data);
    EXPECT_GT(taken, 0u);
    decoded.taken += taken;
    decoded.body += data;
  }
  decoded.done = decoder.done();
  decoded.fault = decoder.fault() != nullptr;
  return decoded;
}

TEST(HttpChunksTest, TheSameInPiecesOfAnyLength) {
  std::string_view bytes =
      "5\r\nhello\r\n1;a=\"b c\"\r\n \r\n0005\r\nworld\r\n0\r\nX: y\r\nZ:\r\n\r\nGET / HTTP";
  for (size_t piece = 1; piece <= bytes.size(); ++piece) {
    Decoded decoded = decode(bytes, piece);
    EXPECT_EQ(decoded.body, "hello world");
    EXPECT_TRUE(decoded.done);
    EXPECT_EQ(bytes.substr(decoded.taken), "GET / HTTP");
  }
}

TEST(HttpChunksTest, AFaultStaysOne) {
  for (std::string_view bytes : {"g\r\n", "5 \r\nhello", " 5\r\nhello", "5\nhello", "5\r\nhello\n",
                                 "5\r\nhelloo\r\n", "\r\n", "0\r\nX\r\n\r\n", "0\r\n:\r\n",
                                 "0\r\nX: \x01\r\n", "5;\x7f\r\n", "00000000000000000\r\n"}) {
    for (size_t piece : {1u, 100u}) EXPECT_TRUE(decode(bytes, piece).fault) << bytes;
  }
}

TEST(HttpChunksTest, SizesOf64Bits) {
  ChunkDecoder decoder;
  std::string_view data;
  EXPECT_EQ(decoder.take("ffffffffffffffff\r\nabc", data), 21u);
  EXPECT_EQ(data, "abc");
  EXPECT_EQ(decoder.fault(), nullptr);
}

}  // namespace
}  // namespace hearth
