#include "tokenizer/character_map.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tokenizer/test_charsmap.h"

namespace hearth {
namespace {

using Rules = CharsmapMaker::Rules;

std::string with_marks(const CharacterMap& map, std::string_view text) {
  auto match = map.longest_prefix(text);
  return match.length == 0 ? "none"
                           : std::to_string(match.length) + ":" + std::string(match.replacement);
}

TEST(CharacterMap, FindsTheLongestSequence) {
  CharacterMap map(
      CharsmapMaker::make(
          {{"A\u0300", "À"}, {"\uFF21", "A"}, {"\t", " "}, {"ab", "x"}, {"abcd", ""}, {"é", "é"}}),
      "test");
  EXPECT_EQ(with_marks(map, "A\u0300\u0301"), "3:À");
  EXPECT_EQ(with_marks(map, "A"), "none");
  EXPECT_EQ(with_marks(map, "\uFF21"), "3:A");
  EXPECT_EQ(with_marks(map, "\t\t"), "1: ");
  EXPECT_EQ(with_marks(map, "abc"), "2:x");
  EXPECT_EQ(with_marks(map, "abcde"), "4:");
  EXPECT_EQ(with_marks(map, ""), "none");
  EXPECT_EQ(with_marks(map, std::string_view("\0", 1)), "none");
  EXPECT_TRUE(map.keeps('A'));
  EXPECT_TRUE(map.keeps(0));
  EXPECT_FALSE(map.keeps('a'));
  EXPECT_FALSE(map.keeps('\t'));
}

TEST(CharacterMap, ManyRules) {
  Rules rules;
  for (uint32_t c = 0; c < 3000; ++c) rules[std::to_string(c * 7919)] = std::to_string(c);
  CharacterMap map(CharsmapMaker::make(rules), "test");
  for (const auto& [key, value] : rules) {
    EXPECT_EQ(with_marks(map, key + "x"), std::to_string(key.size()) + ":" + value);
  }
}

TEST(CharacterMap, AnEmptyOneReplacesNothing) {
  EXPECT_EQ(with_marks(CharacterMap(), "a"), "none");
  CharacterMap map("", "test");
  EXPECT_EQ(with_marks(map, "a"), "none");
  EXPECT_TRUE(map.keeps('a'));
}

TEST(CharacterMap, RefusesSizesThatContradictEachOther) {
  const std::string good = CharsmapMaker::make({{"a", "b"}});
  const std::string trie = CharsmapMaker::bytes_of({4, 0});
  for (const std::string& bytes :
       {std::string("a"), std::string(3, '\0'), std::string(4, '\0'),
        CharsmapMaker::bytes_of({3, 0}), CharsmapMaker::bytes_of({8, 0}),
        CharsmapMaker::bytes_of({0xFFFFFFFC, 0}), good.substr(0, good.size() - 1), trie + "a",
        trie + std::string(CharacterMap::kMaxReplacementBytes + 1, 'a') + '\0'}) {
    EXPECT_THROW(CharacterMap(bytes, "test"), Error);
  }
  CharacterMap map(trie + std::string(CharacterMap::kMaxReplacementBytes, 'a') + '\0', "test");
  EXPECT_EQ(with_marks(map, "a"), "none");
}

TEST(CharacterMap, ATrieThatLiesLeadsNowhere) {
  constexpr uint32_t kEnds = 1 << 8;
  auto map_of = [](const std::vector<uint32_t>& units, const std::string& replacements) {
    return CharacterMap(CharsmapMaker::bytes_of({static_cast<uint32_t>(units.size() * 4)}) +
                            CharsmapMaker::bytes_of(units) + replacements,
                        "test");
  };
  std::vector<uint32_t> units(128, 0);
  units[0] = 1u << 31 >> 1;  // an offset beyond the trie
  EXPECT_EQ(with_marks(map_of(units, ""), "a"), "none");
  units[0] = 0;
  units['a'] = 'a' | kEnds | 0xFFFFFu << 10;  // its value lies beyond the replacements
  EXPECT_EQ(with_marks(map_of(units, ""), "a"), "none");
  units['a'] = 'a' | kEnds | ('a' ^ 'b') << 10;
  units['b'] = 1;  // a place inside the first replacement, then one behind all
  EXPECT_EQ(with_marks(map_of(units, std::string("xy\0", 3)), "a"), "1:y");
  EXPECT_EQ(with_marks(map_of(units, ""), "a"), "none");
  // The trie has a cycle: "aaa..." leads from `a` to itself.
  units['a'] = 'a' | kEnds | 'a' << 10;
  units[0] = 0;
  EXPECT_EQ(map_of(units, std::string("x\0", 2)).longest_prefix(std::string(100000, 'a')).length,
            CharacterMap::kMaxSequenceBytes);
}

}  // namespace
}  // namespace hearth
