#include "tokenizer/bpe_encoder.h"

#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "tokenizer/test_vocab.h"
#include "tokenizer/tokenizer.h"

namespace hearth {
namespace {

std::vector<std::string> bpe_texts(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<std::string> out;
  for (int32_t id : tokenizer.encode(text)) out.push_back(tokenizer.token_bytes(id));
  return out;
}

using Texts = std::vector<std::string>;

TEST(BpeEncoder, MergesByRankNotFromTheLeft) {
  auto tokenizer = Tokenizer::from_vocab(bpe_vocab({"b c", "a b", "a bc", "c d"}));
  EXPECT_EQ(bpe_texts(*tokenizer, "abcd"), (Texts{"abc", "d"}));
  EXPECT_EQ(bpe_texts(*tokenizer, "abd"), (Texts{"ab", "d"}));
  EXPECT_EQ(bpe_texts(*tokenizer, "acd"), (Texts{"a", "cd"}));
}

TEST(BpeEncoder, EqualRanksMergeFromTheLeft) {
  auto tokenizer = Tokenizer::from_vocab(bpe_vocab({"a a", "aa a"}));
  EXPECT_EQ(bpe_texts(*tokenizer, "aaa"), (Texts{"aaa"}));
  EXPECT_EQ(bpe_texts(*tokenizer, "aaaa"), (Texts{"aa", "aa"}));
  EXPECT_EQ(bpe_texts(*tokenizer, "aaaaa"), (Texts{"aa", "aaa"}));
}

TEST(BpeEncoder, MergesStayInsidePieces) {
  auto tokenizer = Tokenizer::from_vocab(bpe_vocab({"Ġ b", "a Ġb", "a Ġ"}));
  EXPECT_EQ(bpe_texts(*tokenizer, "a b"), (Texts{"a", " b"}));
}

TEST(BpeEncoder, MatchesWholeTokensWhereThePreTokenizerSaysSo) {
  for (const auto& [pre, whole] : {std::pair("llama-bpe", true), std::pair("tekken", true),
                                   std::pair("gpt-2", false), std::pair("smaug-bpe", false)}) {
    Vocab vocab = bpe_vocab({"l o"}, pre);
    add_token(vocab, "Ġlone");
    auto tokenizer = Tokenizer::from_vocab(std::move(vocab));
    Texts expected = whole ? Texts{" lone"} : Texts{" ", "lo", "n", "e"};
    EXPECT_EQ(bpe_texts(*tokenizer, " lone"), expected) << pre;
  }
}

// Merges the best pair until none is left: BPE's definition, in quadratic time.
std::vector<int32_t> reference(const MergeTable& merges, std::string_view piece) {
  std::vector<int32_t> ids;
  for (char byte : piece) ids.push_back(static_cast<uint8_t>(byte));
  while (true) {
    const Merge* best = nullptr;
    size_t at = 0;
    for (size_t i = 0; i + 1 < ids.size(); ++i) {
      const Merge* merge = merges.find(ids[i], ids[i + 1]);
      if (merge != nullptr && (best == nullptr || merge->rank < best->rank)) {
        best = merge;
        at = i;
      }
    }
    if (best == nullptr) return ids;
    ids[at] = best->merged;
    ids.erase(ids.begin() + static_cast<ptrdiff_t>(at) + 1);
  }
}

TEST(BpeEncoder, EqualsTheDefinition) {
  std::mt19937 random(5);
  for (int round = 0; round < 60; ++round) {
    std::vector<std::string> words = {"a", "b", "c"};
    std::vector<std::string> rules;
    for (int i = 0; i < 25; ++i) {
      std::string left = words[random() % words.size()];
      std::string right = words[random() % words.size()];
      if (std::find(words.begin(), words.end(), left + right) != words.end()) continue;
      rules.push_back(left + " " + right);
      words.push_back(left + right);
    }
    Vocab vocab = bpe_vocab(rules);
    MergeTable merges(vocab);
    auto tokenizer = Tokenizer::from_vocab(vocab);
    for (int i = 0; i < 40; ++i) {
      std::string text;
      for (uint32_t n = 1 + random() % 40; n > 0; --n) text += "abc"[random() % 3];
      ASSERT_EQ(tokenizer->encode(text), reference(merges, text)) << text;
    }
  }
}

TEST(BpeEncoder, KeepsEveryByte) {
  auto tokenizer = Tokenizer::from_vocab(bpe_vocab({"Ã ©", "h i"}));
  EXPECT_EQ(bpe_texts(*tokenizer, "é"), (Texts{"é"}));
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(all)), all);
  // C3 A9 is a character; the C3 before it is not UTF-8 and is a separate piece.
  EXPECT_EQ(bpe_texts(*tokenizer, "hi\xC3\xC3\xA9\xFFhi"),
            (Texts{"hi", "\xC3", "é", "\xFF", "hi"}));
}

TEST(BpeEncoder, AMissingByteIsUnknownOrRefused) {
  Vocab vocab = bpe_vocab({});
  vocab.tokens[0xC0] = "some other token";
  auto strict = Tokenizer::from_vocab(vocab);
  ASSERT_EQ(strict->warnings().size(), 1u);
  EXPECT_NE(strict->warnings()[0].find("for 1 of the 256 bytes"), std::string::npos);
  EXPECT_EQ(strict->encode("a"), std::vector<int32_t>{'a'});
  EXPECT_THROW(strict->encode("\xC0"), Error);
  vocab.unk = add_token(vocab, "<unk>", TokenType::kUnknown);
  EXPECT_EQ(Tokenizer::from_vocab(vocab)->encode("a\xC0"), (std::vector<int32_t>{'a', vocab.unk}));
}

std::string error_of(Vocab vocab) {
  try {
    Tokenizer::from_vocab(std::move(vocab));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kFile);
    return error.what();
  }
  return "no error";
}

TEST(BpeEncoder, RefusesVocabulariesThatLie) {
  Vocab vocab = bpe_vocab({});
  vocab.tokens['a'] = "something else";
  EXPECT_NE(error_of(vocab).find("no token 'a' for the byte 0x61"), std::string::npos);
}

TEST(BpeEncoder, ARuleThatStandsTwiceCountsOnce) {
  Vocab vocab = bpe_vocab({"a b", "b c"});
  vocab.merges.push_back(vocab.merges[0]);
  auto tokenizer = Tokenizer::from_vocab(vocab);
  EXPECT_EQ(bpe_texts(*tokenizer, "abc"), (Texts{"ab", "c"}));
}

// Quadratic merging would take hours here.
TEST(BpeEncoder, ALongWordTakesNLogN) {
  auto tokenizer = Tokenizer::from_vocab(bpe_vocab({"a a", "aa aa", "aaaa aaaa"}));
  EXPECT_EQ(tokenizer->encode(std::string(1 << 20, 'a')).size(), size_t{1} << 17);
}

}  // namespace
}  // namespace hearth
