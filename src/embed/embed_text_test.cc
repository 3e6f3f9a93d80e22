#include "embed/embed_text.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tokenizer/test_vocab.h"

namespace hearth {
namespace {

std::string refusal(const Tokenizer& tokenizer, std::string_view text, uint32_t context) {
  try {
    embed_tokens(tokenizer, text, context);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Returns a tokenizer of letters that puts <s> and </s> around a text.
std::unique_ptr<Tokenizer> around() {
  Vocab vocab = spm_vocab({{"a", -1}, {"b", -1}, {"c", -1}, {"_", -1}});
  vocab.add_space_prefix = false;
  vocab.add_eos = true;
  return Tokenizer::from_vocab(vocab);
}

TEST(EmbedText, HasItsSpecialTokens) {
  auto tokenizer = around();
  EmbedTokens tokens = embed_tokens(*tokenizer, "ab", 10);
  ASSERT_EQ(tokens.ids.size(), 4u);
  EXPECT_EQ(tokens.ids.front(), tokenizer->bos());
  EXPECT_EQ(tokens.ids.back(), tokenizer->eos());
  EXPECT_EQ(tokens.whole, 4u);
  EXPECT_FALSE(tokens.was_cut());
}

TEST(EmbedText, IsCutBeforeTheLastSpecialToken) {
  auto tokenizer = around();
  EmbedTokens whole = embed_tokens(*tokenizer, "abcabc", 8);
  EXPECT_FALSE(whole.was_cut());
  EmbedTokens cut = embed_tokens(*tokenizer, "abcabc", 5);
  EXPECT_TRUE(cut.was_cut());
  EXPECT_EQ(cut.whole, 8u);
  std::vector<int32_t> expected(whole.ids.begin(), whole.ids.begin() + 4);
  expected.push_back(tokenizer->eos());
  EXPECT_EQ(cut.ids, expected);
  EXPECT_NE(refusal(*tokenizer, "abc", 2).find("context of 2"), std::string::npos);
}

TEST(EmbedText, IsOnlySpecialTokensWhereTheTextIsBlank) {
  // WordPiece drops white space and characters of the category Cf.
  auto bert = Tokenizer::from_vocab(wordpiece_vocab({"hello"}));
  const std::vector<int32_t> special = {bert->bos(), bert->eos()};
  for (std::string_view blank : {" ", " \n ", "\xe2\x80\x8b"}) {
    EmbedTokens tokens = embed_tokens(*bert, blank, 9);
    EXPECT_EQ(tokens.ids, special) << '"' << blank << '"';
    EXPECT_EQ(tokens.whole, 2u);
    EXPECT_FALSE(tokens.was_cut());
  }
  EXPECT_EQ(embed_tokens(*bert, "hello", 9).ids.size(), 3u);
}

TEST(EmbedText, WithoutAnyTokensHasNoIds) {
  EXPECT_TRUE(embed_tokens(*around(), "", 9).ids.empty());
  EXPECT_EQ(no_tokens_reason(""), "the text is empty");
  Vocab vocab = wordpiece_vocab({"hello"});
  vocab.add_bos = vocab.add_eos = false;
  auto bare = Tokenizer::from_vocab(vocab);
  EXPECT_TRUE(embed_tokens(*bare, "  ", 9).ids.empty());
  EXPECT_EQ(no_tokens_reason("  "), "the text has no tokens");
  EXPECT_EQ(embed_tokens(*bare, "hello", 9).ids.size(), 1u);
}

// Tests a decoder's vocabulary that adds no token to a text, and one that adds EOS at its end, like
// Qwen3-Embedding's.
TEST(EmbedText, FollowsTheVocabularysRule) {
  Vocab vocab = bpe_vocab({});
  vocab.eos = add_token(vocab, "<|end|>", TokenType::kControl);
  EXPECT_EQ(embed_tokens(*Tokenizer::from_vocab(vocab), "ab", 9).ids.size(), 2u);
  vocab.add_eos = true;
  EmbedTokens tokens = embed_tokens(*Tokenizer::from_vocab(vocab), "ab<|end|>", 99);
  EXPECT_EQ(tokens.ids.back(), vocab.eos);
  // A control token that the text spells is text.
  EXPECT_EQ(std::count(tokens.ids.begin(), tokens.ids.end(), vocab.eos), 1);
}

}  // namespace
}  // namespace hearth
