#include "grammar/forced_tokens.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "grammar/gbnf.h"
#include "tokenizer/test_vocab.h"

namespace hearth {
namespace {

// Returns the texts of the tokens that are forced after `before`.
std::vector<std::string> forced_texts(std::string_view pattern, std::string_view before,
                                      std::string_view last = {}) {
  auto tokenizer = Tokenizer::from_vocab(
      bpe_vocab({"o r", "d e", "or de", "orde r", "I d", "order Id", "\" :", "t r", "u e"}));
  Matcher matcher(pattern_grammar(pattern), VocabularyTrie::of(*tokenizer));
  for (char c : before) EXPECT_TRUE(matcher.accept(static_cast<uint8_t>(c)));
  std::vector<std::string> texts;
  for (int32_t id : forced_tokens(matcher, *tokenizer, last))
    texts.push_back(tokenizer->token_bytes(id));
  return texts;
}

TEST(ForcedTokensTest, AreThoseThatTheTokenizerWouldMake) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(forced_texts("order-(a|b)", ""), (Texts{"order", "-"}));
  EXPECT_EQ(forced_texts("order", ""), (Texts{"order"}));
  EXPECT_EQ(forced_texts("true|false", ""), Texts{});
}

TEST(ForcedTokensTest, LeaveOutWhatALongerTokenMayTakeIn) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(forced_texts("\\{order(Id)?\\}", ""), (Texts{"{"}));
  EXPECT_EQ(forced_texts("\\{order(Ix)?\\}", ""), (Texts{"{", "order"}));
  EXPECT_EQ(forced_texts("x\"(:|;)", "x"), Texts{});
  EXPECT_EQ(forced_texts("x\"(,|;)", "x"), (Texts{"\""}));
}

TEST(ForcedTokensTest, GoOnAsTheTokenBeforeThemDoes) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(forced_texts("xIdt", "x"), (Texts{"Id", "t"}));
  EXPECT_EQ(forced_texts("trde(a|b)", "t", "t"), (Texts{"r", "de"}))
      << "one that would not be made";
  EXPECT_EQ(forced_texts("\\{tr(a|b)", "{", "{"), (Texts{"tr"}));
}

}  // namespace
}  // namespace hearth
