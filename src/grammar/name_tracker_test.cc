#include "grammar/name_tracker.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

bool names_once(std::string_view text) { return NameTracker().step(text); }

TEST(NameTracker, RefusesANameThatItsObjectHas) {
  EXPECT_TRUE(names_once(R"({"a": {"a": "a", "b": "a"}, "b": [{"a": 1}, {"a": 2}]})"));
  EXPECT_FALSE(names_once(R"({"a": 1, "a")"));
  EXPECT_FALSE(names_once(R"({"b": {"x": [1, {"y": 2}]}, "b")"));
  EXPECT_FALSE(names_once(R"({"a": 1, "\u0061")"));
  EXPECT_FALSE(names_once(R"({"\ud83d\ude00\n": 1, "😀\u000A")"));
  EXPECT_TRUE(names_once(R"({"a\"": 1, "a": "}", "a\\": "\"", "c": 2})"));
}

TEST(NameTracker, KnowsWhenANameMayRepeat) {
  NameTracker tracker;
  ASSERT_TRUE(tracker.step(R"({"ab": "a)"));
  EXPECT_FALSE(tracker.may_repeat());
  EXPECT_TRUE(tracker.in_other_string());
  ASSERT_TRUE(tracker.step("b\""));
  EXPECT_FALSE(tracker.may_repeat());
  EXPECT_FALSE(tracker.in_other_string());
  ASSERT_TRUE(tracker.step(", "));
  EXPECT_TRUE(tracker.may_repeat());
  EXPECT_TRUE(tracker.has_names());
  ASSERT_TRUE(tracker.step("\"a"));
  EXPECT_TRUE(tracker.may_repeat());
  NameTracker copy = tracker;
  ASSERT_TRUE(copy.step("x"));
  EXPECT_FALSE(copy.may_repeat());
  EXPECT_TRUE(copy.in_other_string());
  EXPECT_FALSE(tracker.step("b\""));
}

}  // namespace
}  // namespace hearth
