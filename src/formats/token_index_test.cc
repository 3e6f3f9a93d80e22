#include "formats/token_index.h"

#include <gtest/gtest.h>

#include <random>

namespace hearth {
namespace {

TEST(TokenIndex, FindsTheLastOfEqualTextsAndNoEmptyOne) {
  std::vector<std::string> tokens = {"a", "", "b", "a", std::string("a\0", 2)};
  TokenIndex index(tokens);
  EXPECT_EQ(index.find("a"), 3);
  EXPECT_EQ(index.find("b"), 2);
  EXPECT_EQ(index.find(std::string_view("a\0", 2)), 4);
  EXPECT_EQ(index.find(""), TokenIndex::kNone);
  EXPECT_EQ(index.find("c"), TokenIndex::kNone);
  EXPECT_EQ(index.duplicates(), 1u);
  EXPECT_EQ(TokenIndex({}).find("a"), TokenIndex::kNone);
  EXPECT_EQ(TokenIndex({}).longest_prefix("a").length, 0u);
}

TEST(TokenIndex, EqualsALinearSearch) {
  std::mt19937 random(11);
  auto word = [&](uint32_t longest) {
    std::string text;
    for (uint32_t i = 1 + random() % longest; i > 0; --i) text += "ab\xff"[random() % 3];
    return text;
  };
  for (int round = 0; round < 100; ++round) {
    std::vector<std::string> tokens;
    for (int i = 0; i < 60; ++i) tokens.push_back(word(14));
    TokenIndex index(tokens);
    for (int i = 0; i < 100; ++i) {
      std::string text = word(16);
      int32_t exact = TokenIndex::kNone;
      int32_t prefix = TokenIndex::kNone;
      for (int32_t id = 0; id < 60; ++id) {
        if (tokens[id] == text) exact = id;
        if (!text.starts_with(tokens[id])) continue;
        if (prefix < 0 || tokens[id].size() >= tokens[prefix].size()) prefix = id;
      }
      ASSERT_EQ(index.find(text), exact);
      TokenIndex::Match match = index.longest_prefix(text);
      ASSERT_EQ(match.id, prefix);
      ASSERT_EQ(match.length, prefix < 0 ? 0 : tokens[prefix].size());
    }
  }
}

}  // namespace
}  // namespace hearth
