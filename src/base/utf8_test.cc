#include "base/utf8.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

TEST(Utf8, EveryCodePointRoundTrips) {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    std::string text;
    utf8_append(text, c);
    ASSERT_EQ(utf8_sequence(text), text.size()) << std::hex << static_cast<uint32_t>(c);
    ASSERT_EQ(utf8_decode(text), c);
    ASSERT_EQ(utf8_sequence(text + "\x80"), text.size());
    for (size_t cut = 1; cut < text.size(); ++cut) {
      ASSERT_EQ(utf8_sequence(text.substr(0, cut)), 0u);
      ASSERT_EQ(utf8_partial(text.substr(0, cut)), cut);
    }
  }
}

TEST(Utf8, MalformedSequencesAreNone) {
  for (const char* text : {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80",
                           "\xED\xBF\xBF", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80",
                           "\xF5\x80\x80\x80", "\xFF", "\xC3z", "\xE2\x82z", "\xF0\x9F\x98z"}) {
    EXPECT_EQ(utf8_sequence(text), 0u) << text;
  }
  EXPECT_EQ(utf8_sequence(""), 0u);
  EXPECT_EQ(utf8_partial(""), 0u);
  EXPECT_EQ(utf8_partial("\x80"), 0u);
  EXPECT_EQ(utf8_partial("\xC0"), 0u);
  EXPECT_EQ(utf8_partial("\xE0\x9F"), 1u);
  EXPECT_EQ(utf8_partial("\xF0\x9F\x98z"), 3u);
}

}  // namespace
}  // namespace hearth
