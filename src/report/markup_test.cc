#include "report/markup.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

TEST(MarkupTest, TextIsNeverMarkup) {
  EXPECT_EQ(escape_markup("<script>\"a\" & 'b'"), "&lt;script&gt;&quot;a&quot; &amp; &#39;b&#39;");
  EXPECT_EQ(escape_markup("a\x01z\xff\xc3\xa9"), "a\xef\xbf\xbdz\xef\xbf\xbd\xc3\xa9");
  Markup out;
  out.begin("g", {{"id", "\">"}}).with("title", {}, "<b>").leaf("rect", {{"x", "1"}}).end();
  EXPECT_EQ(out.made(), "<g id=\"&quot;&gt;\"><title>&lt;b&gt;</title>\n<rect x=\"1\"/>\n</g>\n");
}

TEST(MarkupTest, LengthsAreShort) {
  EXPECT_EQ(pixels(12), "12");
  EXPECT_EQ(pixels(12.346), "12.35");
  EXPECT_EQ(pixels(0.5), "0.5");
  EXPECT_EQ(pixels(-0.001), "0");
  EXPECT_EQ(all_digits(0.1), "0.1");
}

TEST(MarkupTest, TextIsCutAndBrokenByItsWidth) {
  EXPECT_GT(text_width("mmm", 10), text_width("iii", 10));
  EXPECT_DOUBLE_EQ(text_width("ab", 20), 2 * text_width("ab", 10));
  EXPECT_EQ(text_within("short", 10, 100), "short");
  const std::string cut = text_within(std::string(100, 'a'), 10, 100);
  EXPECT_TRUE(cut.ends_with("...")) << cut;
  EXPECT_LE(text_width(cut, 10), 100);
  // Texts are cut between characters.
  EXPECT_EQ(text_within("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 10, 20), "\xc3\xa9...");
  EXPECT_EQ(lines_within("aa bb  cc", 10, 30), (std::vector<std::string>{"aa bb", "cc"}));
  EXPECT_TRUE(lines_within("", 10, 30).empty());
}

}  // namespace
}  // namespace hearth
