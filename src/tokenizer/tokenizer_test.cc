#include "tokenizer/tokenizer.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tokenizer/test_vocab.h"

namespace hearth {
namespace {

using Ids = std::vector<int32_t>;

struct Special {
  Vocab vocab = bpe_vocab({"a b"});
  int32_t im_end = add_token(vocab, "<|im_end|>", TokenType::kControl);
  int32_t user = add_token(vocab, "<user>", TokenType::kUserDefined);
  int32_t spaces = add_token(vocab, "   ", TokenType::kUserDefined);
  int32_t long_user = add_token(vocab, "user>long", TokenType::kUserDefined);
  int32_t unused = add_token(vocab, "zzz", TokenType::kUnused);
};

TEST(Tokenizer, UserDefinedTokensAlwaysControlTokensOnDemand) {
  Special s;
  auto tokenizer = Tokenizer::from_vocab(s.vocab);
  EXPECT_EQ(tokenizer->encode("ab<user>ab"), (Ids{256, s.user, 256}));
  EXPECT_EQ(tokenizer->encode("<|im_end|>", {.parse_special = true}), Ids{s.im_end});
  EXPECT_EQ(tokenizer->encode("<|im_end|>").size(), 10u);
  EXPECT_EQ(tokenizer->encode("ab   ab"), (Ids{256, s.spaces, 256}));
  EXPECT_EQ(tokenizer->encode("zzz", {.parse_special = true}), (Ids{'z', 'z', 'z'}));
}

// Pre-tokenizers whose models' own tokenizers normalise text to NFC, and others.
TEST(Tokenizer, ComposesWhereThePreTokenizerSaysSo) {
  const std::string composed = "caf\u00e9<user>\ud55c";
  const std::string apart = "cafe\u0301<user>\u1112\u1161\u11ab";
  auto made = [](const char* pre) {
    Vocab vocab = bpe_vocab({}, pre);
    add_token(vocab, "<user>", TokenType::kUserDefined);
    return Tokenizer::from_vocab(std::move(vocab));
  };
  for (const char* pre :
       {"qwen2", "qwen35", "deepseek-r1-qwen", "stablelm2", "mpt", "olmo", "command-r"}) {
    auto tokenizer = made(pre);
    EXPECT_EQ(tokenizer->encode(apart), tokenizer->encode(composed)) << pre;
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(apart)), composed) << pre;
    // Tokens are found before normalisation, so a mark behind a token does not compose with it.
    EXPECT_EQ(tokenizer->decode(tokenizer->encode("<user>\u0301")), "<user>\u0301") << pre;
    EXPECT_EQ(tokenizer->decode(tokenizer->encode("e\u0301\xff")), "\u00e9\xff") << pre;
  }
  for (const char* pre : {"gpt-2", "llama-bpe", "gpt-4o", "deepseek-v3", "glm4", "kimi-k2"}) {
    auto tokenizer = made(pre);
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(apart)), apart) << pre;
  }
}

TEST(Tokenizer, LongerSpecialTokensFirst) {
  Special s;
  auto tokenizer = Tokenizer::from_vocab(s.vocab);
  EXPECT_EQ(tokenizer->encode("<user>long"), (Ids{'<', s.long_user}));
  EXPECT_EQ(tokenizer->encode("    "), (Ids{s.spaces, 0x20}));
}

TEST(Tokenizer, SpacesAfterSpecialTokensAreSwallowedWhereTheModelSaysSo) {
  Special s;
  s.vocab.added = {{.id = s.im_end, .strip_right = true}};
  auto tokenizer = Tokenizer::from_vocab(s.vocab);
  EXPECT_EQ(tokenizer->encode("<|im_end|> \n ab<user> ", {.parse_special = true}),
            (Ids{s.im_end, 256, s.user, 0x20}));
  EXPECT_EQ(tokenizer->encode("<|im_end|> ", {.parse_special = true}), Ids{s.im_end});
}

TEST(Tokenizer, BosAndEos) {
  Special s;
  s.vocab.bos = s.user;
  s.vocab.eos = s.im_end;
  auto without = Tokenizer::from_vocab(s.vocab);
  EXPECT_EQ(without->encode("a"), Ids{'a'});
  EXPECT_EQ(without->encode("a", {.add_bos = true, .add_eos = true}), (Ids{s.user, 'a', s.im_end}));
  s.vocab.add_bos = s.vocab.add_eos = true;
  auto with = Tokenizer::from_vocab(s.vocab);
  EXPECT_EQ(with->encode("a"), (Ids{s.user, 'a', s.im_end}));
  EXPECT_EQ(with->encode(""), (Ids{s.user, s.im_end}));
  EXPECT_EQ(with->encode("a", {.add_bos = false}), (Ids{'a', s.im_end}));
}

TEST(Tokenizer, DecodeHidesOrRendersSpecialTokens) {
  Special s;
  auto tokenizer = Tokenizer::from_vocab(s.vocab);
  Ids ids = {256, s.im_end, s.user, s.unused};
  EXPECT_EQ(tokenizer->decode(ids), "ab<user>");
  EXPECT_EQ(tokenizer->decode(ids, true), "ab<|im_end|><user>zzz");
  EXPECT_EQ(tokenizer->token_bytes(s.im_end), "");
  EXPECT_EQ(tokenizer->token_bytes(s.im_end, true), "<|im_end|>");
  EXPECT_EQ(tokenizer->token_bytes(0xC3), "\xC3");
  EXPECT_EQ(tokenizer->find_token("<user>"), s.user);
  EXPECT_TRUE(tokenizer->is_control(s.im_end));
}

TEST(Tokenizer, IdsOutsideTheVocabularyAreRefused) {
  auto tokenizer = Tokenizer::from_vocab(bpe_vocab({}));
  for (int32_t id : {-1, 256, INT32_MAX, INT32_MIN}) {
    EXPECT_THROW(tokenizer->token_bytes(id), Error);
    EXPECT_THROW(tokenizer->token_text(id), Error);
    EXPECT_THROW(tokenizer->decode(Ids{id}), Error);
    EXPECT_THROW(tokenizer->is_control(id), Error);
    EXPECT_FALSE(tokenizer->is_eog(id));
  }
}

TEST(Tokenizer, DecodeTakesAwayOneSpaceAtTheBeginningOnly) {
  Vocab vocab = spm_vocab({{"_", -1}, {"_a", -1}, {"a", -2}});
  auto tokenizer = Tokenizer::from_vocab(vocab);
  EXPECT_EQ(tokenizer->decode(Ids{1, 260, 260}), "a a");
  EXPECT_EQ(tokenizer->decode(Ids{259, 260}), " a");
  EXPECT_EQ(tokenizer->decode(Ids{261, 260}), "a a");
  EXPECT_EQ(tokenizer->token_bytes(260), " a");
  EXPECT_EQ(tokenizer->decode(Ids{3 + '\n'}), "\n");
}

TEST(Tokenizer, WarnsOfDuplicatesAndTakesTheLast) {
  Vocab vocab = bpe_vocab({});
  int32_t twin = add_token(vocab, "a");
  auto tokenizer = Tokenizer::from_vocab(vocab);
  ASSERT_EQ(tokenizer->warnings().size(), 1u);
  EXPECT_EQ(tokenizer->encode("a"), Ids{twin});
  EXPECT_EQ(tokenizer->decode(Ids{'a', twin}), "aa");
}

TEST(Vocab, EndTokensAreFoundByName) {
  Special s;
  s.vocab.eos = 7;
  int32_t turn = add_token(s.vocab, "<end_of_turn>");
  int32_t html = add_token(s.vocab, "</s>");
  find_end_tokens(s.vocab);
  EXPECT_EQ(s.vocab.eog, (Ids{7, s.im_end, turn}));
  EXPECT_EQ(s.vocab.types[turn], TokenType::kControl);
  EXPECT_EQ(s.vocab.warnings.size(), 1u);
  EXPECT_EQ(s.vocab.types[html], TokenType::kNormal);  // an ordinary word that looks like one
  auto tokenizer = Tokenizer::from_vocab(s.vocab);
  EXPECT_TRUE(tokenizer->is_eog(turn));
  EXPECT_TRUE(tokenizer->is_eog(7));
  EXPECT_FALSE(tokenizer->is_eog(html));
}

TEST(Vocab, EndOfAChannelIsNoEndWhereMessagesHaveTheirOwn) {
  Vocab vocab = bpe_vocab({});
  int32_t end = add_token(vocab, "<|end|>", TokenType::kControl);
  find_end_tokens(vocab);
  EXPECT_EQ(vocab.eog, Ids{end});
  int32_t back = add_token(vocab, "<|return|>", TokenType::kControl);
  int32_t call = add_token(vocab, "<|call|>", TokenType::kControl);
  find_end_tokens(vocab);
  EXPECT_EQ(vocab.eog, (Ids{back, call}));
}

}  // namespace
}  // namespace hearth
