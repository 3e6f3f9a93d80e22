#include "tokenizer/spm_encoder.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tokenizer/test_vocab.h"
#include "tokenizer/tokenizer.h"

namespace hearth {
namespace {

using Texts = std::vector<std::string>;

// Returns tokens as the file spells them, without BOS; "_" stands for U+2581.
Texts spm_texts(const Tokenizer& tokenizer, std::string_view text, bool parse_special = false) {
  Texts out;
  for (int32_t id : tokenizer.encode(text, {.add_bos = false, .parse_special = parse_special})) {
    std::string token = tokenizer.token_text(id);
    for (size_t at; (at = token.find(kSpaceMark)) != std::string::npos;) {
      token.replace(at, kSpaceMark.size(), "_");
    }
    out.push_back(token);
  }
  return out;
}

Vocab small_spm_vocab() {
  return spm_vocab({{"_", -9},
                    {"h", -10},
                    {"e", -10},
                    {"l", -10},
                    {"o", -10},
                    {"w", -10},
                    {"he", -2},
                    {"ll", -1},
                    {"lo", -3},
                    {"_he", -2.5f},
                    {"hell", -4},
                    {"_hell", -5},
                    {"_hello", -20},
                    {"__", -6},
                    {"\xC3\xA9", -11},
                    {"_w", -3.5f},
                    {"wo", -3.5f}});
}

TEST(SpmEncoder, MergesTheHighestScoreFirst) {
  auto tokenizer = Tokenizer::from_vocab(small_spm_vocab());
  // ll (-1) is merged first, then he (-2), _he, and so on up to _hello, however low the score of
  // _hello is.
  EXPECT_EQ(spm_texts(*tokenizer, "hello"), (Texts{"_hello"}));
  EXPECT_EQ(spm_texts(*tokenizer, "hello hello"), (Texts{"_hello", "_hello"}));
  EXPECT_EQ(spm_texts(*tokenizer, "elo"), (Texts{"_", "e", "lo"}));
  // The left one of two pairs with equal scores is merged.
  EXPECT_EQ(spm_texts(*tokenizer, "wo"), (Texts{"_w", "o"}));
}

TEST(SpmEncoder, WordByWordEqualsTheWholeText) {
  Vocab vocab = small_spm_vocab();
  auto by_word = Tokenizer::from_vocab(vocab);
  add_token(vocab, "\x01\xe2\x96\x81\x01", TokenType::kNormal, -30);  // a space inside
  auto whole = Tokenizer::from_vocab(vocab);
  for (const char* text :
       {"hello hello  wo   he", " ", "   h", "he ", "h\xe2\x96\x81 he", "w  w"}) {
    EXPECT_EQ(spm_texts(*by_word, text), spm_texts(*whole, text)) << text;
  }
  add_token(vocab, "o\xe2\x96\x81", TokenType::kNormal, -0.5f);
  EXPECT_EQ(spm_texts(*Tokenizer::from_vocab(vocab), "lo he"), (Texts{"_", "l", "o_", "he"}));
}

TEST(SpmEncoder, SpacesAtTheBeginning) {
  Vocab vocab = small_spm_vocab();
  auto with = Tokenizer::from_vocab(vocab);
  EXPECT_EQ(spm_texts(*with, " he"), (Texts{"_", "_he"}));
  EXPECT_EQ(spm_texts(*with, ""), Texts{});
  EXPECT_EQ(spm_texts(*with, " "), (Texts{"__"}));
  vocab.add_space_prefix = false;
  auto without = Tokenizer::from_vocab(vocab);
  EXPECT_EQ(spm_texts(*without, "he"), (Texts{"he"}));
  EXPECT_EQ(without->decode(without->encode(" he")), " he");
  EXPECT_EQ(with->decode(with->encode(" he")), " he");
  EXPECT_EQ(with->decode(with->encode("he")), "he");
}

TEST(SpmEncoder, ASpecialTokenIsFollowedByASpaceOfItsOwn) {
  auto tokenizer = Tokenizer::from_vocab(small_spm_vocab());
  EXPECT_EQ(spm_texts(*tokenizer, "he</s>he", true), (Texts{"_he", "</s>", "_he"}));
  EXPECT_EQ(spm_texts(*tokenizer, "</s>", true), (Texts{"</s>"}));
}

TEST(SpmEncoder, UnknownCharactersBecomeBytes) {
  auto tokenizer = Tokenizer::from_vocab(small_spm_vocab());
  EXPECT_EQ(spm_texts(*tokenizer, "é€"), (Texts{"_", "é", "<0xE2>", "<0x82>", "<0xAC>"}));
  std::string odd = "\xFFhe\xC3 \xE2\x82";
  EXPECT_EQ(spm_texts(*tokenizer, odd),
            (Texts{"_", "<0xFF>", "he", "<0xC3>", "_", "<0xE2>", "<0x82>"}));
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(odd)), odd);
}

TEST(SpmEncoder, WithoutByteTokensThereIsTheUnknownToken) {
  Vocab vocab = small_spm_vocab();
  for (int32_t id = 3; id < 259; ++id) vocab.tokens[id] = "old" + std::to_string(id);
  EXPECT_EQ(spm_texts(*Tokenizer::from_vocab(vocab), "x"), (Texts{"_", "<unk>"}));
  vocab.unk = Vocab::kNone;
  EXPECT_THROW(Tokenizer::from_vocab(vocab), Error);
}

TEST(SpmEncoder, RefusesAVocabularyWithSomeByteTokens) {
  Vocab vocab = small_spm_vocab();
  vocab.tokens[3 + 0x41] = "gone";
  try {
    Tokenizer::from_vocab(vocab);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("<0x41>"), std::string::npos);
  }
}

TEST(SpmEncoder, ByteTokens) {
  EXPECT_EQ(byte_token_value("<0x00>"), 0);
  EXPECT_EQ(byte_token_value("<0xFf>"), 255);
  for (const char* name : {"<0x>", "<0x1>", "<0x-1>", "<0x123>", "<0xG0>", "<0x0G>", "0x41", ""}) {
    EXPECT_EQ(byte_token_value(name), -1) << name;
  }
}

TEST(SpmEncoder, ALongTextTakesNLogN) {
  auto tokenizer = Tokenizer::from_vocab(spm_vocab({{"a", -9}, {"aa", -1}, {"aaaa", -2}}));
  EXPECT_EQ(tokenizer->encode(std::string(1 << 19, 'a')).size(), (size_t{1} << 17) + 4);
}

}  // namespace
}  // namespace hearth
