#include "tokenizer/text_normalizer.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace hearth {
namespace {

using Steps = std::vector<NormalizeStep>;

std::string normal(const Steps& steps, std::string text) {
  MatchMemory memory;
  return TextNormalizer(steps, "tokenizer.json").run({std::move(text), {}}, 1 << 20, memory).text;
}

TEST(TextNormalizer, ComposesCanonically) {
  const Steps nfc = {NfcStep{}};
  EXPECT_EQ(normal(nfc, "cafe\u0301s"), "caf\u00e9s");
  EXPECT_EQ(normal(nfc, "\u212b \u1112\u1161\u11ab"), "\u00c5 \ud55c");
  // Marks are sorted by their classes first.
  EXPECT_EQ(normal(nfc, "a\u0302\u0323"), "\u1ead");
  EXPECT_EQ(normal(nfc, "\u0344"), "\u0308\u0301");
  EXPECT_EQ(normal(nfc,
                   "e\xCC\u0301\xFF"
                   "e\u0301"),
            "e\xCC\u0301\xFF\u00e9");
  EXPECT_EQ(normal(nfc, ""), "");
}

// Marks sorted in quadratic time would take minutes.
TEST(TextNormalizer, MarksWithoutEndAreSorted) {
  std::string text = "a";
  for (int i = 0; i < 50'000; ++i) text += i % 2 == 0 ? "\u0345" : "\u0334";
  EXPECT_EQ(normal({NfcStep{}}, text).size(), text.size());
}

TEST(TextNormalizer, MarksOfAClassKeepTheirOrder) {
  // The marks have the classes 230, 220 and 240. Few marks are sorted by another algorithm than
  // many.
  for (int times : {1, 5, 40}) {
    std::string marks;
    std::string below, above, last;
    for (int i = 0; i < times; ++i) {
      marks += "\u0345\u0306\u0323\u030b\u0331";
      below += "\u0323\u0331";
      above += "\u0306\u030b";
      last += "\u0345";
    }
    EXPECT_EQ(normal({NfcStep{}}, "x" + marks), "x" + below + above + last) << times;
  }
}

TEST(TextNormalizer, PrependsToWhatIsThere) {
  const Steps steps = {PrependStep{"_"}, ReplaceStep{{" ", false}, "_"}};
  EXPECT_EQ(normal(steps, "a b"), "_a_b");
  EXPECT_EQ(normal(steps, ""), "");
  EXPECT_EQ(normal(steps, "\xFF b"), "_\xFF_b");
}

TEST(TextNormalizer, ReplacesTextAndMatches) {
  EXPECT_EQ(normal({ReplaceStep{{"\\s+", true}, " "}}, "a \t b\n"), "a b ");
  EXPECT_EQ(normal({ReplaceStep{{".", false}, "$0"}}, "a.b"), "a$0b");
  EXPECT_EQ(normal({ReplaceStep{{"", false}, "-"}}, "ab"), "-a-b-");
  EXPECT_EQ(normal({ReplaceStep{{"b", false}, ""}}, "abb"), "a");
}

TEST(TextNormalizer, BytesStayMarkedAsUntrusted) {
  const Steps steps = {NfcStep{}, PrependStep{"_"}, ReplaceStep{{" ", false}, "--"}};
  MatchMemory memory;
  const TextNormalizer::Marked text = {"a e\u0301<", {0, 1, 0, 1, 1, 0}};
  const auto made = TextNormalizer(steps, "f").run(text, 100, memory);
  EXPECT_EQ(made.text, "_a--\u00e9<");
  EXPECT_EQ(made.untrusted, (std::vector<uint8_t>{0, 0, 1, 1, 1, 1, 0}));
}

TEST(TextNormalizer, RefusesTextsThatGrowBeyondTheLimit) {
  MatchMemory memory;
  const Steps steps = {ReplaceStep{{"a", false}, std::string(1000, 'b')}};
  EXPECT_THROW(TextNormalizer(steps, "f").run({std::string(1000, 'a'), {}}, 1 << 16, memory),
               Error);
}

}  // namespace
}  // namespace hearth
