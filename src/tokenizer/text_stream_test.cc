#include "tokenizer/text_stream.h"

#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "base/utf8.h"

namespace hearth {
namespace {

TEST(TextStream, HoldsBackPartsOfCharactersAndOfStopStrings) {
  TextStream stream({"</s>"});
  EXPECT_EQ(stream.push("a\xC3"), "a");
  EXPECT_EQ(stream.push("\xA9<"), "\xC3\xA9");
  EXPECT_EQ(stream.push("/b"), "</b");
  EXPECT_EQ(stream.push("</"), "");
  EXPECT_EQ(stream.end(), "</");
  EXPECT_FALSE(stream.stopped());
  EXPECT_EQ(stream.stop(), "");
}

TEST(TextStream, StopsWithinACharactersBytesApart) {
  TextStream stream({"\xC3\xA9!"});
  EXPECT_EQ(stream.push("x\xC3"), "x");
  EXPECT_EQ(stream.push("\xA9"), "");
  EXPECT_EQ(stream.push("!y"), "");
  EXPECT_TRUE(stream.stopped());
  EXPECT_EQ(stream.stop(), "\xC3\xA9!");
  EXPECT_EQ(stream.push("z"), "");
  EXPECT_EQ(stream.end(), "");
}

TEST(TextStream, TheEndReplacesHalfACharacterBehindWhatWasHeldBack) {
  TextStream stream({"abc"});
  EXPECT_EQ(stream.push("ab\xE2\x82"), "");
  EXPECT_EQ(stream.end(), "ab\xEF\xBF\xBD");
}

TEST(TextStream, RefusesAnEmptyStopString) { EXPECT_THROW(TextStream({""}), Error); }

TEST(TextStream, CutsMakeNoDifferenceAndTextIsWellFormedAtEveryMoment) {
  std::mt19937 random(11);
  const std::string alphabet = "ab\x80\xC3\xA9\xE2\x82\xAC\xFF";
  int stopped = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string bytes;
    for (uint32_t i = random() % 20; i > 0; --i) bytes += alphabet[random() % alphabet.size()];
    std::vector<std::string> stops = {"ab",
                                      "\xC3\xA9"
                                      "a"};
    TextStream whole(stops), single(stops);
    std::string expected = whole.push(bytes);
    expected += whole.end();
    std::string text;
    auto give = [&](const std::string& part) {
      for (std::string_view rest = part; !rest.empty();) {
        size_t length = utf8_sequence(rest);
        ASSERT_GT(length, 0u);
        rest.remove_prefix(length);
      }
      text += part;
    };
    for (char byte : bytes) give(single.push(std::string(1, byte)));
    give(single.end());
    ASSERT_EQ(text, expected);
    ASSERT_EQ(single.stop(), whole.stop());
    stopped += single.stopped();
  }
  EXPECT_GT(stopped, 100);
}

}  // namespace
}  // namespace hearth
