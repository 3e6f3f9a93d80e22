#include "embed/pair_text.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "formats/test_source.h"
#include "tokenizer/test_vocab.h"

namespace hearth {
namespace {

using Ids = std::vector<int32_t>;

// Returns a tokenizer that puts marks around pairs like those of bge and XLM-R, with `separators`
// separators between the texts.
std::unique_ptr<Tokenizer> encoder(size_t separators) {
  Vocab vocab = spm_vocab({{"a", -1}, {"b", -1}, {"c", -1}, {"_", -1}});
  vocab.add_space_prefix = false;
  vocab.add_bos = vocab.add_eos = true;
  vocab.between.assign(separators, vocab.eos);
  return Tokenizer::from_vocab(vocab);
}

Ids ids_of(const Tokenizer& tokenizer, std::string_view text) {
  return tokenizer.encode(text, {.add_bos = false, .add_eos = false});
}

Ids joined(std::initializer_list<Ids> parts) {
  Ids all;
  for (const Ids& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

template <typename Call>
std::string refusal(ErrorCode code, const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  return "no error";
}

constexpr uint32_t kAny = 1000;

PairTokens pair_of(const PairText& text, std::string_view query, std::string_view document) {
  return text.tokens(text.query(query, kAny), document, kAny);
}

TEST(PairText, AnEncoderHasMarksAroundBothTexts) {
  for (size_t separators : {0, 1, 2}) {
    auto tokenizer = encoder(separators);
    const Ids begin = {tokenizer->bos()}, end = {tokenizer->eos()};
    const Ids between(std::max<size_t>(separators, 1), tokenizer->eos());
    const PairTokens pair = pair_of(PairText(*tokenizer), "ab", "cab");
    const Ids before = joined({begin, ids_of(*tokenizer, "ab"), between});
    EXPECT_EQ(pair.ids, joined({before, ids_of(*tokenizer, "cab"), end}));
    EXPECT_EQ(pair.second, before.size());
    EXPECT_EQ(pair.whole, pair.ids.size());
    EXPECT_FALSE(pair.too_long);
  }
}

TEST(PairText, DocumentsAreCutAndMarksStay) {
  auto tokenizer = encoder(1);
  const PairText text(*tokenizer);
  const Ids whole = pair_of(text, "ab", "cccccc").ids;
  ASSERT_EQ(whole.size(), 11u);
  for (auto [most, of_document] : {std::pair{9u, kAny}, std::pair{kAny, 4u}}) {
    const PairTokens cut = text.tokens(text.query("ab", most), "cccccc", of_document);
    EXPECT_EQ(cut.too_long, most < kAny);
    EXPECT_EQ(cut.whole, most < kAny ? 11u : 9u);
    EXPECT_EQ(cut.ids, joined({Ids(whole.begin(), whole.begin() + 8), {tokenizer->eos()}}));
  }
  EXPECT_EQ(text.tokens(text.query("ab", 6), "", kAny).ids.size(), 5u)
      << "an empty document is one";
  const std::string why = refusal(ErrorCode::kRequest, [&] { text.query("abcab", 8); });
  EXPECT_NE(why.find("at least 8 of the context's 8"), std::string::npos) << why;
}

// Returns a tokenizer with the letters and markers of a chat.
std::unique_ptr<Tokenizer> decoder() {
  Vocab vocab = bpe_vocab({"Ġ a"});
  for (const char* marker : {"<|im_start|>", "<|im_end|>"}) {
    add_token(vocab, marker, TokenType::kControl);
  }
  vocab.add_bos = false;
  return Tokenizer::from_vocab(vocab);
}

TEST(PairText, ADecoderIsAskedByAPrompt) {
  auto tokenizer = decoder();
  const std::string prompt = "<|im_start|>Q: {query}\nD: {document}<|im_end|>\n";
  const PairText text(*tokenizer, prompt);
  const EncodeOptions special{.parse_special = true};
  const PairTokens pair = pair_of(text, "why", "a b");
  EXPECT_EQ(pair.ids, tokenizer->encode("<|im_start|>Q: why\nD: a b<|im_end|>\n", special));
  EXPECT_EQ(pair.second, 0u);
  // The marker before the document joins with it, and the document is cut at its end.
  const PairTokens cut = text.tokens(text.query("why", kAny), "a bcd", 1);
  EXPECT_EQ(cut.ids, tokenizer->encode("<|im_start|>Q: why\nD: a <|im_end|>\n", special));
  EXPECT_FALSE(cut.too_long);
}

TEST(PairText, TextsNeverBecomeControlTokens) {
  auto tokenizer = decoder();
  const PairText text(*tokenizer, "<|im_start|>{query}|{document}<|im_end|>");
  const PairTokens pair = pair_of(text, "<|im_end|>", "<|im_start|>{query}<|im_end|>");
  const auto controls =
      std::ranges::count_if(pair.ids, [&](int32_t id) { return tokenizer->is_control(id); });
  EXPECT_EQ(controls, 2);
  EXPECT_EQ(tokenizer->decode(pair.ids, true),
            "<|im_start|><|im_end|>|<|im_start|>{query}<|im_end|><|im_end|>");
}

TEST(PairText, PromptsComeFromTheFileOrAreQwens) {
  auto tokenizer = decoder();
  TestSource source;
  source.set("general.architecture", "qwen3");
  const std::string own = rank_prompt(source.source(), *tokenizer);
  EXPECT_NE(own.find("<Query>: {query}\n<Document>: {document}<|im_end|>\n"), std::string::npos);
  auto other = Tokenizer::from_vocab(bpe_vocab({}));
  const std::string why =
      refusal(ErrorCode::kUnsupported, [&] { rank_prompt(source.source(), *other); });
  EXPECT_NE(why.find("' cannot rank documents, as its prompt format is unknown: it has no chat "
                     "template named rerank, and lacks the token"),
            std::string::npos)
      << why;
  source.set("tokenizer.chat_template.rerank", "{query}?{document}");
  EXPECT_EQ(rank_prompt(source.source(), *other), "{query}?{document}");
  for (const char* odd : {"{document}{query}", "{query}", "{document}"}) {
    refusal(ErrorCode::kFile, [&] { PairText(*other, odd); });
  }
}

}  // namespace
}  // namespace hearth
