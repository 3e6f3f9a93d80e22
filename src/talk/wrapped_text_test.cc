#include "talk/wrapped_text.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

// Returns the text, wrapped in pieces of `piece` bytes.
std::string wrapped(const std::string& text, unsigned columns, size_t piece = 1) {
  WrappedText lines(columns);
  std::string out;
  for (size_t i = 0; i < text.size(); i += piece) out += lines.push(text.substr(i, piece));
  return out + lines.flush();
}

TEST(WrappedTextTest, BreaksBetweenWords) {
  EXPECT_EQ(wrapped("the quick brown fox", 10), "the quick\nbrown fox");
  EXPECT_EQ(wrapped("the quick brown fox", 9), "the quick\nbrown fox");
  EXPECT_EQ(wrapped("the quick brown fox", 8), "the\nquick\nbrown\nfox");
  EXPECT_EQ(wrapped("a\n\n  b c", 80), "a\n\n  b c");
  EXPECT_EQ(wrapped("ab   \ncd", 80), "ab\ncd");
}

TEST(WrappedTextTest, PiecesMakeNoDifference) {
  const std::string text =
      "Ein längerer Satz \xe4\xb8\xad\xe6\x96\x87 mit `code`\n```\nint  x;\n```\nund Ende.";
  for (unsigned columns : {1u, 7u, 20u, 80u}) {
    for (size_t piece : {2u, 3u, 100u}) {
      EXPECT_EQ(wrapped(text, columns, piece), wrapped(text, columns));
    }
  }
}

TEST(WrappedTextTest, LeavesLongWordsAndCodeToTheTerminal) {
  EXPECT_EQ(wrapped("see https://example.org/long now", 10), "see\nhttps://example.org/long now");
  EXPECT_EQ(wrapped("```c\nint main(void) {}\n```\nit is done now", 10),
            "```c\nint main(void) {}\n```\nit is done\nnow");
}

TEST(WrappedTextTest, WideCharactersTakeTwoColumns) {
  EXPECT_EQ(wrapped("中文字", 4), "中文\n字");
  EXPECT_EQ(wrapped("a中文", 4), "a中\n文");
}

TEST(WrappedTextTest, DropsWhatMovesTheCursor) {
  EXPECT_EQ(wrapped("a\x1b[2Jb\rc\x07", 80), "a[2Jbc");
  EXPECT_EQ(wrapped("a\xff"
                    "b",
                    80),
            "a\xef\xbf\xbd"
            "b");
}

TEST(WrappedTextTest, FollowsTheWindow) {
  WrappedText lines(20);
  std::string out = lines.push("one two three ");
  lines.resize(10);
  EXPECT_EQ(lines.column(), 3u);
  out += lines.push("four five six ") + lines.flush();
  EXPECT_EQ(out, "one two three four\nfive six");
}

TEST(WithoutControls, DropsWhatMovesTheCursor) {
  EXPECT_EQ(without_controls("a\x1b[2J\tb\r\n\u202ec\u009b\xff"), "a[2J\tb\nc\ufffd");
}

}  // namespace
}  // namespace hearth
