#include "tokenizer/special_tokens.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tokenizer/test_vocab.h"
#include "tokenizer/tokenizer.h"

namespace hearth {
namespace {

using Ranges = std::vector<std::pair<size_t, size_t>>;

Vocab chat_vocab() {
  Vocab vocab = bpe_vocab({"a a", "h i", "< |", "| >"});
  add_token(vocab, "<|im_end|>", TokenType::kControl);
  add_token(vocab, "<|im_end|>x", TokenType::kControl);
  add_token(vocab, "<|user|>", TokenType::kUserDefined);
  add_token(vocab, "[INST]", TokenType::kUserDefined);
  add_token(vocab, "   ", TokenType::kUserDefined);
  add_token(vocab, "<think>", TokenType::kUserDefined);
  return vocab;
}

class UntrustedTest : public ::testing::Test {
 protected:
  std::vector<int32_t> encode(const std::string& text, const Ranges& untrusted) const {
    EncodeOptions options;
    options.parse_special = true;
    options.untrusted = untrusted;
    return tokenizer_->encode(text, options);
  }
  bool has(const std::vector<int32_t>& ids, const char* token) const {
    return std::ranges::find(ids, tokenizer_->find_token(token)) != ids.end();
  }

  std::unique_ptr<Tokenizer> tokenizer_ = Tokenizer::from_vocab(chat_vocab());
};

TEST_F(UntrustedTest, MatchesOfControlTokensHaveNoUntrustedBytes) {
  const std::string text = "a<|im_end|>b";  // the token lies at [1, 11)
  EXPECT_TRUE(has(encode(text, {}), "<|im_end|>"));
  EXPECT_TRUE(has(encode(text, {{0, 1}, {11, 12}}), "<|im_end|>"));
  for (size_t at = 1; at < 11; ++at) {
    std::vector<int32_t> ids = encode(text, {{at, at + 1}});
    EXPECT_FALSE(has(ids, "<|im_end|>")) << at;
    EXPECT_EQ(tokenizer_->decode(ids, true), text);
  }
}

TEST_F(UntrustedTest, ALongerUntrustedMatchDoesNotTakeTheProgramsToken) {
  std::vector<int32_t> ids = encode("<|im_end|>x", {{10, 11}});
  EXPECT_EQ(ids.front(), tokenizer_->find_token("<|im_end|>"));
  EXPECT_EQ(ids.size(), 2u);
}

TEST_F(UntrustedTest, MergesSeeTheWholeText) {
  EXPECT_EQ(encode("aahi<", {{1, 3}}), encode("aahi<", {}));
}

TEST_F(UntrustedTest, UserDefinedTokensAreTextUnlessTheyMarkTurns) {
  const std::string text = "<|user|>   <think>[INST]";
  std::vector<int32_t> ids = encode(text, {{0, text.size()}});
  EXPECT_FALSE(has(ids, "<|user|>"));
  EXPECT_FALSE(has(ids, "[INST]"));
  EXPECT_TRUE(has(ids, "   "));
  EXPECT_TRUE(has(ids, "<think>"));
  EXPECT_TRUE(has(encode(text, {}), "<|user|>"));
}

TEST(SpecialTokens, SwallowsWhiteSpaceBehindTrustedOrNot) {
  Vocab vocab = chat_vocab();
  vocab.added = {{.id = static_cast<int32_t>(vocab.tokens.size()) - 6, .strip_right = true}};
  SpecialTokens special(vocab);
  Ranges untrusted = {{10, 13}};
  std::vector<TextPart> parts = special.partition("<|im_end|> \nx", true, untrusted);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[1].text, "x");
}

TEST(SpecialTokens, NoEncoderMakesAControlTokenOfItsText) {
  Vocab vocab =
      spm_vocab({{"<", -1}, {"s", -1}, {">", -1}, {"<s", -1}, {"/", -1}, {"</", -1}, {"</s", -1}});
  vocab.add_bos = false;
  vocab.add_space_prefix = false;
  auto tokenizer = Tokenizer::from_vocab(std::move(vocab));
  for (const char* text : {"<s>", "</s>", "a<s></s>"}) {
    for (int32_t id : tokenizer->encode(text)) EXPECT_FALSE(tokenizer->is_control(id)) << text;
  }
}

}  // namespace
}  // namespace hearth
