#include "tokenizer/stop_strings.h"

#include <gtest/gtest.h>

#include <random>

#include "base/error.h"

namespace hearth {
namespace {

TEST(StopMatcher, FindsAStopStringAcrossPushes) {
  StopMatcher matcher({"\nUser:", "###"});
  EXPECT_EQ(matcher.push("Hello"), "Hello");
  EXPECT_EQ(matcher.push(" you\nUs"), " you");
  EXPECT_FALSE(matcher.stopped());
  EXPECT_EQ(matcher.push("er: no"), "");
  EXPECT_TRUE(matcher.stopped());
  EXPECT_EQ(matcher.matched(), "\nUser:");
  EXPECT_EQ(matcher.push("more"), "");
  EXPECT_EQ(matcher.flush(), "");
}

TEST(StopMatcher, ReleasesHeldTextThatDidNotStop) {
  StopMatcher matcher({"abac"});
  EXPECT_EQ(matcher.push("aba"), "");
  EXPECT_EQ(matcher.push(""), "");
  EXPECT_EQ(matcher.push("b"), "ab");  // "ab" can still begin a stop string
  EXPECT_EQ(matcher.push("x"), "abx");
  EXPECT_EQ(matcher.push("zab"), "z");
  EXPECT_EQ(matcher.flush(), "ab");
  EXPECT_FALSE(matcher.stopped());
}

TEST(StopMatcher, TheFirstCompletedWinsThenTheLongest) {
  StopMatcher first({"abcd", "bc"});
  EXPECT_EQ(first.push("xabcd"), "xa");
  EXPECT_EQ(first.matched(), "bc");
  StopMatcher longest({"c", "bc", "abc"});
  EXPECT_EQ(longest.push("xabcd"), "x");
  EXPECT_EQ(longest.matched(), "abc");
}

TEST(StopMatcher, NoStopStringsHoldNothing) {
  StopMatcher matcher({});
  EXPECT_EQ(matcher.push("anything"), "anything");
  EXPECT_EQ(matcher.flush(), "");
}

TEST(StopMatcher, RefusesAnEmptyStopString) { EXPECT_THROW(StopMatcher({"a", ""}), Error); }

// Finds the first completed stop string by trying every end in turn.
std::pair<std::string, bool> reference(const std::string& text,
                                       const std::vector<std::string>& stops) {
  for (size_t end = 1; end <= text.size(); ++end) {
    size_t longest = 0;
    for (const std::string& stop : stops) {
      if (end >= stop.size() && text.compare(end - stop.size(), stop.size(), stop) == 0) {
        longest = std::max(longest, stop.size());
      }
    }
    if (longest > 0) return {text.substr(0, end - longest), true};
  }
  return {text, false};
}

TEST(StopMatcher, EqualsTheReferenceHoweverTextIsCut) {
  std::mt19937 random(3);
  auto word = [&](uint32_t longest) {
    std::string text;
    for (uint32_t i = 1 + random() % longest; i > 0; --i) text += "ab"[random() % 2];
    return text;
  };
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::string> stops;
    for (uint32_t i = 1 + random() % 3; i > 0; --i) stops.push_back(word(6));
    std::string text = word(40);
    StopMatcher matcher(stops);
    std::string out;
    for (size_t at = 0; at < text.size();) {
      size_t length = 1 + random() % 5;
      out += matcher.push(std::string_view(text).substr(at, length));
      at += length;
    }
    bool stopped = matcher.stopped();
    out += matcher.flush();
    auto [expected, expected_stop] = reference(text, stops);
    ASSERT_EQ(stopped, expected_stop) << text;
    ASSERT_EQ(out, expected) << text;
  }
}

}  // namespace
}  // namespace hearth
