#include "tokenizer/pre_tokenizer.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

// Returns the pieces, joined by "|".
std::string cut(std::string_view name, std::string_view text) {
  const PreTokenizerRule* rule = find_pre_tokenizer(name);
  if (rule == nullptr) return "no such pre-tokenizer";
  TextPieces pieces;
  MatchMemory memory;
  PreTokenizer(*rule).split(text, true, memory, pieces);
  std::string joined;
  for (std::string_view piece : pieces.pieces) {
    if (!joined.empty()) joined += '|';
    joined += piece;
  }
  return joined;
}

TEST(PreTokenizer, Gpt2) {
  for (const char* name : {"gpt-2", "mpt", "phi-2", "olmo", "jina-v2-code", "jina-v2-de",
                           "jina-v2-es", "roberta-bpe"}) {
    EXPECT_EQ(cut(name, "I'll don't  do  that 1234, ok?!  "),
              "I|'ll| don|'t| | do| | that| 1234|,| ok|?!|  ");
    EXPECT_EQ(cut(name, "I'LL"), "I|'|LL");
    EXPECT_EQ(cut(name, "a\n\n\tb"), "a|\n\n|\t|b");
    EXPECT_EQ(cut(name, "今天 été \u00a0x"), "今天| été| |\u00a0|x");
  }
}

TEST(PreTokenizer, Llama3) {
  for (const char* name : {"llama-bpe", "llama3", "llama-v3", "smaug-bpe"}) {
    EXPECT_EQ(cut(name, "I'LL go 12345.67\n\n  x\t(y)"),
              "I|'LL| go| |123|45|.|67|\n\n| | x|\t|(y|)");
    EXPECT_EQ(cut(name, "end.\r\n\n next"), "end|.\r\n\n| next");
    EXPECT_EQ(cut(name, "a   "), "a|   ");
    EXPECT_EQ(cut(name, "a \n \n b"), "a| \n \n| b");
    EXPECT_EQ(cut(name, "🚀🚀go é\u0301"), "🚀🚀|go| é|\u0301");
  }
}

TEST(PreTokenizer, Qwen2TakesDigitsOneByOne) {
  for (const char* name : {"qwen2", "deepseek-r1-qwen", "stablelm2"}) {
    EXPECT_EQ(cut(name, "We'Ve 2024年"), "We|'Ve| |2|0|2|4|年");
    EXPECT_EQ(cut(name, "x = 10;\n\n"), "x| =| |1|0|;\n\n");
  }
  // Marks belong to words.
  EXPECT_EQ(cut("qwen2", "क्या"), "क|्य|ा");
  EXPECT_EQ(cut("qwen35", "क्या"), "क्या");
}

TEST(PreTokenizer, DeepseekLlm) {
  EXPECT_EQ(cut("deepseek-llm", "Hi, 你好 42a\n\nx  "), "Hi|,| |你好| |42|a|\n|\n|x|  ");
  // The punctuation class reaches from ':' to '~' and so includes ASCII's letters, and ideographs
  // begin at U+0800: words with accents and full-width spaces are split.
  EXPECT_EQ(cut("deepseek-llm", "été ñandú"), "é|t|é| ñ|and|ú");
  EXPECT_EQ(cut("deepseek-llm", "Привет！ \u3000。"), "Привет|！| |\u3000。");
  EXPECT_EQ(cut("deepseek-llm", "a   b"), "a|  | b");
}

TEST(PreTokenizer, DeepseekCoder) {
  EXPECT_EQ(cut("deepseek-coder", "int x=42;\r\n\ty"), "int| x|=|4|2|;|\r|\n|\ty");
}

TEST(PreTokenizer, DeepseekV3) {
  EXPECT_EQ(cut("deepseek-v3", "Abc.def 12345 日本カナx\n"), "Abc|.def| |123|45| |日本カナ|x|\n");
  EXPECT_EQ(cut("deepseek-v3", "a += b;\n\n"), "a| +=| b|;\n\n");
}

TEST(PreTokenizer, FalconAndDefaultPartPunctuationAndThousands) {
  EXPECT_EQ(cut("falcon", "x `a` 12345"), "x| |`|a|`| |123|45");
  EXPECT_EQ(cut("default", "x `a` 12345, $5"), "x| `|a|`| |123|45|,| |$|5");
  EXPECT_EQ(cut("falcon", "it's"), "it|'|s");
}

TEST(PreTokenizer, DigitsAloneThenGpt2) {
  for (const char* name : {"starcoder", "refact", "smollm", "command-r", "codeshell"}) {
    EXPECT_EQ(cut(name, "x 123 it's"), "x| |1|2|3| it|'s");
  }
}

TEST(PreTokenizer, Gpt4oPartsCamelCaseAndKeepsContractions) {
  for (const char* name : {"gpt-4o", "llama4"}) {
    EXPECT_EQ(cut(name, "camelCase HTTPServer it'S 12345"),
              "camel|Case| HTTPServer| it'S| |123|45");
    EXPECT_EQ(cut(name, "a/b//\n\nÉCole"), "a|/b|//\n\n|ÉCole");
    EXPECT_EQ(cut(name, "привЕт"), "прив|Ет");
  }
}

TEST(PreTokenizer, TekkenHasNoContractions) {
  EXPECT_EQ(cut("tekken", "it's camelCase 123 क्या"), "it|'s| camel|Case| |1|2|3| क्या");
}

TEST(PreTokenizer, KimiK2KeepsIdeographsApart) {
  EXPECT_EQ(cut("kimi-k2", "Hello中文 WorldABC it'S 1234\n"),
            "Hello|中文| World|ABC| it'S| |123|4|\n");
  // U+3001 is not an ideograph; Hangul and kana are letters of words.
  EXPECT_EQ(cut("kimi-k2", "a中、b한あ!中"), "a|中|、b한あ|!|中");
  // Capitals behind letters without case begin a new word.
  EXPECT_EQ(cut("kimi-k2", "ABªCD AªBc"), "ABª|CD| AªBc");
}

TEST(PreTokenizer, WhiteSpaceIsUnicodes) {
  // U+180E is no white space since Unicode 6.3; U+0085 and U+3000 are.
  EXPECT_EQ(cut("gpt-2", "a\u0085\u3000b"), "a|\u0085|\u3000|b");
  EXPECT_EQ(cut("gpt-2", "a \u180eb"), "a| \u180e|b");
}

TEST(PreTokenizer, PiecesAreTheWholeText) {
  std::string text = "Ünïcode 'm\t\t99 漢字\u3000e\u0301 \U0001f468\u200d\U0001f469 \r\n x  ";
  text += std::string(1, '\0') + "end";
  for (std::string names = pre_tokenizer_names() + ", "; !names.empty();) {
    size_t comma = names.find(", ");
    std::string name = names.substr(0, comma);
    names.erase(0, comma + 2);
    const PreTokenizerRule* rule = find_pre_tokenizer(name);
    ASSERT_NE(rule, nullptr) << name;
    TextPieces pieces;
    MatchMemory memory;
    PreTokenizer(*rule).split(text, true, memory, pieces);
    std::string joined;
    for (std::string_view piece : pieces.pieces) {
      EXPECT_FALSE(piece.empty());
      joined += piece;
    }
    EXPECT_EQ(joined, text) << name;
  }
}

TEST(PreTokenizer, KnowsItsNames) {
  for (const char* name : {"", "gpt", "qwen", "zzz", "llama-bp", "llama-bpe2"}) {
    EXPECT_EQ(find_pre_tokenizer(name), nullptr);
  }
  EXPECT_TRUE(find_pre_tokenizer("llama-bpe")->whole_tokens);
  EXPECT_TRUE(find_pre_tokenizer("tekken")->add_bos);
  EXPECT_FALSE(find_pre_tokenizer("qwen2")->whole_tokens);
  EXPECT_NE(pre_tokenizer_names().find("deepseek-v3, default, exaone"), std::string::npos);
}

// Each of these texts would take minutes if a pattern went through the same run from each of its
// characters, in quadratic time.
TEST(PreTokenizer, LongRunsTakeLinearTime) {
  constexpr size_t kLength = 1 << 20;
  for (const char* name :
       {"gpt-2", "llama-bpe", "qwen2", "deepseek-llm", "deepseek-coder", "deepseek-v3", "falcon",
        "default", "starcoder", "gpt-4o", "tekken", "kimi-k2"}) {
    PreTokenizer pre_tokenizer(*find_pre_tokenizer(name));
    for (char c : {' ', 'a', 'A', '1', '!', '\n', '\''}) {
      TextPieces pieces;
      MatchMemory memory;
      std::string text = std::string(kLength, c) + "x";
      pre_tokenizer.split(text, true, memory, pieces);
      EXPECT_GE(pieces.pieces.size(), 1u);
    }
  }
}

}  // namespace
}  // namespace hearth
