#include "tokenizer/unigram_encoder.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tokenizer/spm_encoder.h"
#include "tokenizer/test_charsmap.h"
#include "tokenizer/test_vocab.h"
#include "tokenizer/tokenizer.h"

namespace hearth {
namespace {

using Texts = std::vector<std::string>;

Texts unigram_texts(const Tokenizer& tokenizer, std::string_view text, bool parse_special = false) {
  Texts out;
  EncodeOptions options{.add_bos = false, .add_eos = false, .parse_special = parse_special};
  for (int32_t id : tokenizer.encode(text, options)) {
    std::string token = tokenizer.token_text(id);
    for (size_t at = 0; (at = token.find(kSpaceMark, at)) != std::string::npos;) {
      token.replace(at, kSpaceMark.size(), "_");
    }
    out.push_back(token);
  }
  return out;
}

Texts unigram_texts(const Vocab& vocab, std::string_view text, bool parse_special = false) {
  return unigram_texts(*Tokenizer::from_vocab(vocab), text, parse_special);
}

Vocab small_unigram_vocab() {
  return unigram_vocab({{"_", -2},
                        {"_a", -3},
                        {"a", -4},
                        {"b", -4},
                        {"ab", -5.5f},
                        {"_ab", -7.5f},
                        {"abb", -8},
                        {"c", -9},
                        {"0", -6},
                        {"00", -7},
                        {"é", -5},
                        {" ", -1}});
}

void add_bytes(Vocab& vocab) {
  for (int byte = 0; byte < 256; ++byte) {
    add_token(vocab, fmt::format("<0x{:02X}>", byte), TokenType::kByte);
  }
}

TEST(UnigramEncoder, TakesTheLikeliestTokens) {
  Vocab vocab = small_unigram_vocab();
  EXPECT_EQ(unigram_texts(vocab, "ab"), (Texts{"_a", "b"}));    // -7 before -7.5 twice
  EXPECT_EQ(unigram_texts(vocab, "abb"), (Texts{"_", "abb"}));  // -10 before -11, -11.5
  EXPECT_EQ(unigram_texts(vocab, "b ab b"), (Texts{"_", "b", "_a", "b", "_", "b"}));
  EXPECT_EQ(unigram_texts(vocab, "cab"), (Texts{"_", "c", "ab"}));
  vocab.scores[vocab.tokens.size() - 7] = -6.9f;  // "_ab"
  EXPECT_EQ(unigram_texts(vocab, "ab"), (Texts{"_ab"}));
}

TEST(UnigramEncoder, EqualSumsAreOrderedBySinglePrecision) {
  // All sums are exact in single precision, too. So the path that was found first wins, which has
  // the longest last token.
  EXPECT_EQ(unigram_texts(small_unigram_vocab(), "000"), (Texts{"_", "0", "00"}));
  Vocab vocab = unigram_vocab({{"_", -2}, {"a", -1.5f}, {"aa", -3}});
  EXPECT_EQ(unigram_texts(vocab, "aa"), (Texts{"_", "aa"}));
  // A sum beyond -2^24 is rounded: that of "aa", -2^24 - 3, to -2^24 - 4, and that of "a" to -2^24
  // - 2, to which another "a" adds up to -2^24 - 3.5.
  vocab.scores[4] = -16777216;
  EXPECT_EQ(unigram_texts(vocab, "aa"), (Texts{"_", "a", "a"}));
}

TEST(UnigramEncoder, DoublePrecisionKnowsTheBetterTokensOfALongText) {
  // A sum of -4e7 changes in steps of 4 in single precision.
  Vocab vocab = unigram_vocab({{"_", -2}, {"x", -1000}, {"a", -0.6f}, {"aa", -1}, {"_a", -20}});
  vocab.add_space_prefix = false;
  std::vector<std::string> got = unigram_texts(vocab, std::string(40000, 'x') + "aaaa");
  EXPECT_EQ(Texts(got.end() - 2, got.end()), (Texts{"aa", "aa"}));
}

TEST(UnigramEncoder, RunsOfUnknownCharactersAreOneToken) {
  Vocab vocab = small_unigram_vocab();
  EXPECT_EQ(unigram_texts(vocab, "xyz"), (Texts{"_", "<unk>"}));
  EXPECT_EQ(unigram_texts(vocab, "axxbx"), (Texts{"_a", "<unk>", "b", "<unk>"}));
  EXPECT_EQ(unigram_texts(vocab, "日本"), (Texts{"_", "<unk>"}));
  EXPECT_EQ(unigram_texts(vocab, "\xFF\x80"), (Texts{"_", "<unk>"}));
  // One <unk> may span words, if not even the space is a token.
  Vocab no_space = unigram_vocab({{"a", -1}});
  EXPECT_EQ(unigram_texts(no_space, "xx xx a"), (Texts{"<unk>", "a"}));
}

TEST(UnigramEncoder, BytesForUnknownCharacters) {
  Vocab vocab = small_unigram_vocab();
  add_bytes(vocab);
  EXPECT_EQ(unigram_texts(vocab, "aßb"), (Texts{"_a", "<0xC3>", "<0x9F>", "b"}));
  EXPECT_EQ(unigram_texts(vocab, "\xFF"), (Texts{"_", "<0xEF>", "<0xBF>", "<0xBD>"}));
  // A byte token's name in text is ordinary text.
  EXPECT_EQ(unigram_texts(vocab, "<0x41>").size(), 1 + 3 + 1 + 2u);
  auto tokenizer = Tokenizer::from_vocab(vocab);
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(" aß  b ")), "aß b");
  vocab.types[vocab.tokens.size() - 1] = TokenType::kNormal;
  EXPECT_THROW(Tokenizer::from_vocab(vocab), Error);
}

TEST(UnigramEncoder, NeedsAnUnknownTokenOrBytes) {
  Vocab vocab = small_unigram_vocab();
  vocab.unk = Vocab::kNone;
  EXPECT_THROW(Tokenizer::from_vocab(vocab), Error);
  add_bytes(vocab);
  EXPECT_EQ(unigram_texts(vocab, "x"), (Texts{"_", "<0x78>"}));
}

TEST(UnigramEncoder, SpacesAsTheVocabularySays) {
  Vocab vocab = small_unigram_vocab();
  EXPECT_EQ(unigram_texts(vocab, "  a   b  "), (Texts{"_a", "_", "b"}));
  EXPECT_EQ(unigram_texts(vocab, ""), Texts{});
  EXPECT_EQ(unigram_texts(vocab, "   "), Texts{});
  EXPECT_EQ(unigram_texts(vocab, "\xe2\x96\x81"), Texts{});
  vocab.add_space_prefix = false;
  EXPECT_EQ(unigram_texts(vocab, "  a   b  "), (Texts{"a", "_", "b"}));
  vocab.remove_extra_whitespaces = false;
  EXPECT_EQ(unigram_texts(vocab, " a  b "), (Texts{"_a", "_", "_", "b", "_"}));
  vocab.add_space_prefix = true;
  EXPECT_EQ(unigram_texts(vocab, " b"), (Texts{"_", "_", "b"}));
  EXPECT_EQ(unigram_texts(vocab, " "), (Texts{"_", "_"}));
}

TEST(UnigramEncoder, TheCharacterMapComesFirst) {
  Vocab vocab = small_unigram_vocab();
  vocab.charsmap = CharsmapMaker::make({{"e\u0301", "é"},
                                        {"\t", " "},
                                        {"\u3000", " "},
                                        {"\u00A0", " "},
                                        {"\u200B", ""},
                                        {"½", "a b"},
                                        {"¼", " "},
                                        {"Ａ", "a"}});
  EXPECT_EQ(unigram_texts(vocab, "be\u0301"), (Texts{"_", "b", "é"}));
  EXPECT_EQ(unigram_texts(vocab, "be"), (Texts{"_", "b", "<unk>"}));
  EXPECT_EQ(unigram_texts(vocab, "\t \u3000Ａ\u00A0\tb\t"), (Texts{"_a", "_", "b"}));
  // A character that is dropped at the end leaves a space before it as the last character.
  EXPECT_EQ(unigram_texts(vocab, "a \u200B b\u200B"), (Texts{"_a", "_", "b"}));
  EXPECT_EQ(unigram_texts(vocab, "\u200B"), Texts{});
  EXPECT_EQ(unigram_texts(vocab, "½½"), (Texts{"_a", "_", "b", "a", "_", "b"}));
  vocab.charsmap.pop_back();
  EXPECT_THROW(Tokenizer::from_vocab(vocab), Error);
}

TEST(UnigramEncoder, UserDefinedTokensAreKeptAsTheyAre) {
  Vocab vocab = small_unigram_vocab();
  vocab.charsmap = CharsmapMaker::make({{"Ａ", "a"}, {"½", " "}});
  add_token(vocab, "<mask>", TokenType::kUserDefined);
  add_token(vocab, "Ａ½", TokenType::kUserDefined);
  add_token(vocab, "abab", TokenType::kUserDefined);
  EXPECT_EQ(unigram_texts(vocab, "a <mask>b"), (Texts{"_a", "_", "<mask>", "b"}));
  EXPECT_EQ(unigram_texts(vocab, "<mask"), (Texts{"_", "<unk>", "a", "<unk>"}));
  EXPECT_EQ(unigram_texts(vocab, "ＡＡ½½b"), (Texts{"_a", "Ａ½", "_", "b"}));
  EXPECT_EQ(unigram_texts(vocab, "cabab"), (Texts{"_", "c", "abab"}));
  auto tokenizer = Tokenizer::from_vocab(vocab);
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("a <mask> b")), "a <mask> b");
}

TEST(UnigramEncoder, UntrustedBytesNeverBecomeControlTokens) {
  Vocab vocab = small_unigram_vocab();
  add_token(vocab, "<|im_end|>", TokenType::kUserDefined);
  auto tokenizer = Tokenizer::from_vocab(vocab);
  EXPECT_EQ(unigram_texts(*tokenizer, "a</s>b"), (Texts{"_a", "<unk>", "b"}));
  EXPECT_EQ(unigram_texts(*tokenizer, "a</s>b", true), (Texts{"_a", "</s>", "_", "b"}));
  EXPECT_EQ(unigram_texts(*tokenizer, "a<|im_end|>b"), (Texts{"_a", "<|im_end|>", "_", "b"}));
  std::vector<std::pair<size_t, size_t>> untrusted = {{1, 11}};
  EXPECT_EQ(tokenizer->encode("a<|im_end|>b", {.untrusted = untrusted}),
            (std::vector<int32_t>{0, 5, 3, 7, 2}));
}

TEST(UnigramEncoder, UnusedTokensAreNotFound) {
  Vocab vocab = small_unigram_vocab();
  vocab.types[8] = TokenType::kUnused;  // "ab"
  EXPECT_EQ(unigram_texts(vocab, "cab"), (Texts{"_", "c", "a", "b"}));
  EXPECT_EQ(Tokenizer::from_vocab(vocab)->decode(std::vector<int32_t>{8}), "ab");
}

TEST(UnigramEncoder, TokensMayReachOverWords) {
  Vocab vocab = small_unigram_vocab();
  int32_t both = add_token(vocab, with_space_marks("a_b"), TokenType::kNormal, -1);
  EXPECT_EQ(unigram_texts(vocab, "ca b c"), (Texts{"_", "c", "a_b", "_", "c"}));
  auto tokenizer = Tokenizer::from_vocab(vocab);
  EXPECT_EQ(tokenizer->decode(std::vector<int32_t>{both, both}), "a ba b");
}

TEST(UnigramEncoder, DecodesAsSentencePiece) {
  auto tokenizer = Tokenizer::from_vocab(small_unigram_vocab());
  auto decode = [&](std::vector<int32_t> ids, bool special = false) {
    return tokenizer->decode(ids, special);
  };
  EXPECT_EQ(decode({0, 5, 4, 7, 2}), "a b");
  EXPECT_EQ(decode({4, 4, 5, 4}), "a ");
  EXPECT_EQ(decode({0, 3, 5}), " \u2047  a");
  EXPECT_EQ(decode({0, 5, 3, 2}), "a \u2047 ");
  EXPECT_EQ(decode({0, 5, 3, 2}, true), "<s>a<unk></s>");
}

TEST(UnigramEncoder, LongTexts) {
  auto tokenizer = Tokenizer::from_vocab(small_unigram_vocab());
  EXPECT_EQ(tokenizer->encode(std::string(1 << 20, '0')).size(), 3 + (1u << 19));
  EXPECT_EQ(tokenizer->encode(std::string(1 << 20, 'x')).size(), 4u);
  EXPECT_EQ(tokenizer->encode(std::string(1 << 20, ' ')).size(), 2u);
}

TEST(UnigramEncoder, AMapThatMakesTooMuchOfATextIsRefused) {
  Vocab vocab = small_unigram_vocab();
  vocab.charsmap = CharsmapMaker::make({{"a", std::string(200, 'b')}});
  UnigramNormalizer normalizer(vocab, TokenIndex(vocab.tokens));
  Pace pace;
  EXPECT_EQ(normalizer.normalize("aaa", true, 1000, pace).size(), 603u);
  EXPECT_THROW(normalizer.normalize(std::string(1000, 'a'), true, 1000, pace), Error);
}

}  // namespace
}  // namespace hearth
