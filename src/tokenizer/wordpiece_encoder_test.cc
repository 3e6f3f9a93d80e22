#include "tokenizer/wordpiece_encoder.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tokenizer/spm_encoder.h"
#include "tokenizer/test_vocab.h"
#include "tokenizer/tokenizer.h"

namespace hearth {
namespace {

using Texts = std::vector<std::string>;

Texts pieces_of(const Tokenizer& tokenizer, std::string_view text) {
  Texts out;
  for (int32_t id : tokenizer.encode(text, {.add_bos = false, .add_eos = false})) {
    std::string token = tokenizer.token_text(id);
    if (token.starts_with(kSpaceMark)) token = "_" + token.substr(kSpaceMark.size());
    out.push_back(token);
  }
  return out;
}

Vocab small_wordpiece_vocab() {
  return wordpiece_vocab({"_hello", "_hell", "_he", "llo", "l", "o", "_world", "_,", "_!", "_$",
                          "_cafe", "s", "_日", "_本", "_ᄀ", "ᅡ", "_a", "_σ", "_~"});
}

TEST(WordPieceEncoder, TakesTheLongestPieces) {
  auto tokenizer = Tokenizer::from_vocab(small_wordpiece_vocab());
  EXPECT_EQ(pieces_of(*tokenizer, "hello  world\thello"), (Texts{"_hello", "_world", "_hello"}));
  EXPECT_EQ(pieces_of(*tokenizer, "hellol"), (Texts{"_hello", "l"}));
  EXPECT_EQ(pieces_of(*tokenizer, "helo"), (Texts{"_he", "l", "o"}));
  // A part without a token makes the whole word unknown.
  EXPECT_EQ(pieces_of(*tokenizer, "hellox world"), (Texts{"[UNK]", "_world"}));
}

TEST(WordPieceEncoder, LowersAndStrips) {
  Vocab vocab = small_wordpiece_vocab();
  auto tokenizer = Tokenizer::from_vocab(vocab);
  EXPECT_EQ(pieces_of(*tokenizer, "HELLO Café CAFE\u0301S"),
            (Texts{"_hello", "_cafe", "_cafe", "s"}));
  EXPECT_EQ(pieces_of(*tokenizer, "가 Σ"), (Texts{"_ᄀ", "ᅡ", "_σ"}));
  vocab.lowercase = vocab.strip_accents = false;
  EXPECT_EQ(pieces_of(*Tokenizer::from_vocab(vocab), "hello Hello café"),
            (Texts{"_hello", "[UNK]", "[UNK]"}));
}

TEST(WordPieceEncoder, PunctuationAndIdeographsAreWords) {
  auto tokenizer = Tokenizer::from_vocab(small_wordpiece_vocab());
  EXPECT_EQ(pieces_of(*tokenizer, "hello,world!$~"),
            (Texts{"_hello", "_,", "_world", "_!", "_$", "_~"}));
  EXPECT_EQ(pieces_of(*tokenizer, "a日本a"), (Texts{"_a", "_日", "_本", "_a"}));
}

TEST(WordPieceEncoder, DropsWhatIsNoText) {
  auto tokenizer = Tokenizer::from_vocab(small_wordpiece_vocab());
  EXPECT_EQ(pieces_of(*tokenizer, "he\u200bllo wo\x01r\xFFld\u00ad"), (Texts{"_hello", "_world"}));
  EXPECT_EQ(pieces_of(*tokenizer, "hello\u00a0world\u3000a\r\na"),
            (Texts{"_hello", "_world", "_a", "_a"}));
  EXPECT_EQ(pieces_of(*tokenizer, "\x01 \xFF"), Texts{});
}

TEST(WordPieceEncoder, AWordBeyondHundredCharactersIsUnknown) {
  auto tokenizer = Tokenizer::from_vocab(small_wordpiece_vocab());
  EXPECT_EQ(pieces_of(*tokenizer, "he" + std::string(98, 'l')).size(), 97u);
  EXPECT_EQ(pieces_of(*tokenizer, "he" + std::string(99, 'l')), Texts{"[UNK]"});
  EXPECT_EQ(pieces_of(*tokenizer, std::string(1 << 20, 'l')), Texts{"[UNK]"});
}

TEST(WordPieceEncoder, ClsAndSep) {
  auto tokenizer = Tokenizer::from_vocab(small_wordpiece_vocab());
  EXPECT_EQ(tokenizer->encode("hello"), (std::vector<int32_t>{2, 5, 3}));
  EXPECT_EQ(tokenizer->encode(""), (std::vector<int32_t>{2, 3}));
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("Hello helo world")), "hello helo world");
}

TEST(WordPieceEncoder, NeedsAnUnknownToken) {
  Vocab vocab = small_wordpiece_vocab();
  vocab.unk = Vocab::kNone;
  EXPECT_THROW(Tokenizer::from_vocab(vocab), Error);
}

}  // namespace
}  // namespace hearth
