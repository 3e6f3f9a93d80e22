#include "tokenizer/newer_characters.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <gtest/gtest.h>
#include <pcre2.h>

#include <array>
#include <set>

#include "base/utf8.h"
#include "tokenizer/pre_tokenizer.h"
#include "tokenizer/text_normalizer.h"

namespace hearth {
namespace {

constexpr std::array kNames = {"Cf", "Han", "Ll", "Lm", "Lo", "Lu", "Mc",
                               "Mn", "Nd",  "No", "Pd", "Po", "Sm", "So"};

std::string spelled(char32_t character) {
  std::string text;
  utf8_append(text, character);
  return text;
}

std::string cut(const TextPattern& pattern, const std::string& text) {
  const std::vector<CutStep> steps = {SplitStep{.pattern = pattern}};
  TextPieces pieces;
  MatchMemory memory;
  PreTokenizer(steps, "tokenizer.json").split(text, true, memory, pieces);
  std::string joined;
  for (std::string_view piece : pieces.pieces) {
    if (!joined.empty()) joined += '|';
    joined += piece;
  }
  return joined;
}

// The table assumes a PCRE2 that knows Unicode 14 at least, as docs/tokenizers.md says.
TEST(NewerCharacters, PcreKnowsUnicode14AtLeast) {
  std::array<char, 64> version{};
  ASSERT_GT(pcre2_config(PCRE2_CONFIG_UNICODE_VERSION, version.data()), 0);
  const std::set<std::string> known = {"14.0.0", "15.0.0", "15.1.0", "16.0.0"};
  EXPECT_TRUE(known.contains(version.data()))
      << "PCRE2 has Unicode " << version.data()
      << ": look at newer_characters.h and docs/tokenizers.md again";
}

TEST(NewerCharacters, HaveTheirCategoriesInPatterns) {
  char32_t before = 0;
  for (const NewerRange& range : newer_characters()) {
    EXPECT_GT(range.first, before);
    EXPECT_GE(range.last, range.first);
    before = range.last;
    const std::string name = kNames[static_cast<size_t>(range.kind)];
    for (char32_t character : {range.first, range.last}) {
      const std::string text = spelled(character);
      const std::string around = "\u3042" + text + "\u3042";
      EXPECT_EQ(cut({"\\p{" + name + "}"}, text + text), text + "|" + text)
          << static_cast<uint32_t>(character);
      EXPECT_EQ(cut({"\\p{Hiragana}"}, around), "\u3042|" + text + "|\u3042");
      EXPECT_EQ(cut({"\\p{Cn}"}, around), around);
      EXPECT_EQ(cut({"\\p{Han}"}, around),
                range.kind == NewerKind::kHan ? "\u3042|" + text + "|\u3042" : around);
    }
  }
}

TEST(NewerCharacters, StandInsKeepThePlaces) {
  std::string made;
  for (std::string text : {"", "abc", "caf\u00e9 \u4eca\u65e5 \U0001f600", "\U0010ffff"}) {
    EXPECT_EQ(with_stand_ins(text, &made).data(), text.data());
  }
  const std::string text = "a\U0001fae8b \ua7cb\u00e9 \U000323afz\U0001fae8";
  const std::string_view shown = with_stand_ins(text, &made);
  EXPECT_EQ(shown, "a\U0001f300b \u1e00\u00e9 \U00020000z\U0001f300");
  EXPECT_EQ(shown.size(), text.size());
}

// U+1FAE8, an emoji of Unicode 15, is a symbol to the models' own patterns.
TEST(NewerCharacters, AreCutAsThePublishedPatternsCutThem) {
  const PreTokenizerRule* rule = find_pre_tokenizer("deepseek-v3");
  TextPieces pieces;
  MatchMemory memory;
  const std::string text = "a \U0001fae8!b";
  PreTokenizer(*rule).split(text, true, memory, pieces);
  ASSERT_EQ(pieces.pieces.size(), 3u);
  EXPECT_EQ(pieces.pieces[1], " \U0001fae8!");
  for (std::string_view piece : pieces.pieces) {
    EXPECT_TRUE(piece.data() >= text.data() && piece.data() < text.data() + text.size());
  }
}

TEST(NewerCharacters, AreReplacedByPatternsAndFoundAsTheyAre) {
  const std::string text = "\U0001fae8 \U0001fae9";
  MatchMemory memory;
  auto normal = [&](const TextPattern& pattern) {
    const std::vector<NormalizeStep> steps = {ReplaceStep{pattern, "x"}};
    return TextNormalizer(steps, "tokenizer.json").run({text, {}}, 100, memory).text;
  };
  EXPECT_EQ(normal({"\\p{So}"}), "x x");
  EXPECT_EQ(normal({"\U0001fae8", false}), "x \U0001fae9");
  EXPECT_EQ(cut({"\U0001fae8", false}, text), "\U0001fae8| \U0001fae9");
}

}  // namespace
}  // namespace hearth
