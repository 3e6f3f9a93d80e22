#include "tokenizer/piece_trie.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <random>

#include "formats/token_index.h"

namespace hearth {
namespace {

PieceTrie trie_of(const std::vector<std::string>& tokens) {
  return {tokens, TokenIndex(tokens).sorted_ids()};
}

int32_t find(const PieceTrie& trie, std::string_view text) {
  const PieceTrie::Node* node = trie.root();
  for (char c : text) {
    node = trie.child(*node, c);
    if (node == nullptr) return -2;
  }
  return node->id;
}

TEST(PieceTrie, FindsTokensAndTheirBeginnings) {
  PieceTrie trie = trie_of({"a", "ab", "abc", "b", "", "xyz"});
  EXPECT_EQ(find(trie, "a"), 0);
  EXPECT_EQ(find(trie, "ab"), 1);
  EXPECT_EQ(find(trie, "abc"), 2);
  EXPECT_EQ(find(trie, "xy"), PieceTrie::kNone);
  EXPECT_EQ(find(trie, "xyz"), 5);
  EXPECT_EQ(find(trie, "abcd"), -2);
  EXPECT_EQ(find(trie, "c"), -2);
  EXPECT_EQ(find(trie, ""), PieceTrie::kNone);
  EXPECT_EQ(find(trie_of({}), "a"), -2);
}

TEST(PieceTrie, EveryNumberOfChildren) {
  for (int count = 1; count <= 256; ++count) {
    std::vector<int> bytes(256);
    std::iota(bytes.begin(), bytes.end(), 0);
    std::shuffle(bytes.begin(), bytes.end(), std::mt19937(static_cast<uint32_t>(count)));
    std::vector<std::string> tokens;
    for (int i = 0; i < count; ++i) tokens.push_back({'x', static_cast<char>(bytes[i])});
    PieceTrie trie = trie_of(tokens);
    for (int i = 0; i < 256; ++i) {
      std::string text = {'x', static_cast<char>(bytes[i])};
      EXPECT_EQ(find(trie, text), i < count ? i : -2) << count;
    }
  }
}

TEST(PieceTrie, RandomTokens) {
  std::mt19937 random(1);
  std::map<std::string, int32_t> by_text;
  std::vector<std::string> tokens;
  for (int i = 0; i < 5000; ++i) {
    std::string token;
    for (uint32_t left = random() % 6 + 1; left > 0; --left) {
      token += static_cast<char>(random() % (token.empty() ? 256 : 12) * 21);
    }
    by_text[token] = i;
    tokens.push_back(token);
  }
  PieceTrie trie = trie_of(tokens);
  for (const auto& [text, id] : by_text) {
    EXPECT_EQ(find(trie, text), id);
    std::string other = text + 'q';
    EXPECT_EQ(find(trie, other) >= 0, by_text.contains(other));
  }
}

TEST(PieceTrie, LeavesOutWhatNoTextCouldWalk) {
  std::string longest(PieceTrie::kMaxPieceBytes, 'a');
  PieceTrie trie = trie_of({longest, longest + "a"});
  EXPECT_EQ(find(trie, longest), 0);
  EXPECT_EQ(find(trie, longest + "a"), -2);
}

}  // namespace
}  // namespace hearth
