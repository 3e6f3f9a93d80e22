#include "base/utf8_stream.h"

#include <gtest/gtest.h>

#include <random>

#include "base/utf8.h"

namespace hearth {
namespace {

TEST(Utf8Stream, HoldsBackPartsOfCharacters) {
  Utf8Stream stream;
  EXPECT_EQ(stream.push("a\xF0\x9F"), "a");
  EXPECT_EQ(stream.held(), 2u);
  EXPECT_EQ(stream.push("\x98"), "");
  EXPECT_EQ(stream.push("\x80 b"), "\xF0\x9F\x98\x80 b");
  EXPECT_EQ(stream.held(), 0u);
  EXPECT_EQ(stream.flush(), "");
}

TEST(Utf8Stream, ReplacesOnceCertain) {
  Utf8Stream stream;
  EXPECT_EQ(stream.push("\xFF"), "\xEF\xBF\xBD");
  // E2 82 could still become a character; with A it is one broken part.
  EXPECT_EQ(stream.push("\xE2\x82"), "");
  EXPECT_EQ(stream.push("A"),
            "\xEF\xBF\xBD"
            "A");
  // ED A0 can never become a character: it is two broken parts at once.
  EXPECT_EQ(stream.push("\xED\xA0"), "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(stream.push("\xC3"), "");
  EXPECT_EQ(stream.flush(), "\xEF\xBF\xBD");
  EXPECT_EQ(stream.flush(), "");
}

TEST(Utf8Stream, CutsMakeNoDifference) {
  std::mt19937 random(7);
  const std::string alphabet = "ab\x80\xBF\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\xED\xFF";
  for (int round = 0; round < 2000; ++round) {
    std::string bytes;
    for (uint32_t i = random() % 20; i > 0; --i) bytes += alphabet[random() % alphabet.size()];
    Utf8Stream whole;
    std::string expected = whole.push(bytes);
    expected += whole.flush();
    Utf8Stream single;
    std::string text;
    for (char byte : bytes) text += single.push(std::string(1, byte));
    text += single.flush();
    ASSERT_EQ(text, expected);
    for (std::string_view rest = text; !rest.empty();) {
      size_t length = utf8_sequence(rest);
      ASSERT_GT(length, 0u);
      rest.remove_prefix(length);
    }
  }
}

}  // namespace
}  // namespace hearth
