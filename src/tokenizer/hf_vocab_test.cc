// Tests the vocabularies of folders: which files are read, and how special tokens are found.
#include "formats/hf_vocab.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/base64.h"
#include "base/error.h"
#include "formats/test_hf_folder.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/vocabulary.h"

namespace hearth {
namespace {

using Ids = std::vector<int32_t>;

HfFolderWriter with_tokenizer(const std::string& post = "null") {
  HfFolderWriter writer = folder_of_vocabulary(10);
  writer.put("tokenizer.json", R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2},
      "merges": ["a b"]}, "post_processor": )" +
                                   post + R"(, "added_tokens": [
      {"id": 3, "content": "<s>", "special": true}, {"id": 4, "content": "</s>", "special": true},
      {"id": 5, "content": "<stop>", "special": true},
      {"id": 6, "content": "<|im_end|>", "special": true}]})");
  return writer;
}

std::string error_of(const HfFolderWriter& writer) {
  const ModelSource source = writer.source();
  try {
    read_vocabulary(source);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(HfVocab, NamesAndEndsStandBeside) {
  HfFolderWriter writer = with_tokenizer();
  writer.put("tokenizer_config.json", R"({"bos_token": {"content": "<s>"}, "eos_token": "</s>",
      "pad_token": "<pad>", "chat_template": "{{ bos_token }}{{ eos_token }}"})");
  writer.put("generation_config.json", R"({"eos_token_id": [4, 5]})");
  writer.set("eos_token_id", "0");
  const ModelSource source = writer.source();
  auto tokenizer = Tokenizer::from_source(source);
  EXPECT_EQ(tokenizer->bos(), 3);
  EXPECT_EQ(tokenizer->eos(), 4);
  EXPECT_EQ(tokenizer->vocab().eog, (Ids{4, 5, 6}));
  EXPECT_EQ(tokenizer->encode("ab"), Ids{2});
  EXPECT_EQ(tokenizer->encode("ab<s>", {.parse_special = true}), (Ids{2, 3}));
  ASSERT_EQ(tokenizer->warnings().size(), 1u);
  EXPECT_NE(tokenizer->warnings()[0].find("<pad>"), std::string::npos);
  EXPECT_EQ(source.chat_template(), "{{ bos_token }}{{ eos_token }}");
  EXPECT_EQ(tokenizer->token_text(tokenizer->bos()), "<s>");
}

TEST(HfVocab, EndsOfTheConfigCountWhereNothingElseIsSaid) {
  HfFolderWriter writer = with_tokenizer();
  writer.set("eos_token_id", "5");
  const Vocab vocab = read_vocabulary(writer.source());
  EXPECT_EQ(vocab.eog, (Ids{4, 5, 6}));  // "</s>" by its name
  EXPECT_EQ(vocab.eos, 5);
}

TEST(HfVocab, BosFollowsThePostProcessorUnlessTheConfigSetsIt) {
  const std::string post = R"({"type": "TemplateProcessing", "single": [
      {"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}],
      "special_tokens": {"<s>": {"ids": [3]}}})";
  EXPECT_EQ(Tokenizer::from_source(with_tokenizer(post).source())->encode("a"), (Ids{3, 0}));
  HfFolderWriter writer = with_tokenizer();
  const std::string names = R"({"bos_token": "<s>", "eos_token": "</s>", "add_bos_token": )";
  writer.put("tokenizer_config.json", names + R"(true, "add_eos_token": true})");
  EXPECT_EQ(Tokenizer::from_source(writer.source())->encode("a"), (Ids{3, 0, 4}));
  writer = with_tokenizer(post);
  writer.put("tokenizer_config.json", names + "false}");
  EXPECT_EQ(Tokenizer::from_source(writer.source())->encode("a"), Ids{0});
}

TEST(HfVocab, IdsBeyondTheModelAreRefused) {
  for (const char* ends : {"10", "[4, 10]", "-1", "\"4\"", "[[4]]"}) {
    HfFolderWriter writer = with_tokenizer();
    writer.put("generation_config.json", fmt::format(R"({{"eos_token_id": {}}})", ends));
    EXPECT_NE(error_of(writer).find("eos_token_id"), std::string::npos) << ends;
  }
  HfFolderWriter small = folder_of_vocabulary(6);
  small.put("tokenizer.json", R"({"model": {"vocab": {"a": 6}, "merges": []}})");
  EXPECT_NE(error_of(small).find("beyond the 6 tokens"), std::string::npos);
}

TEST(HfVocab, PreIsSaidByTheFile) {
  try {
    read_vocabulary(with_tokenizer().source(), "qwen2");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    EXPECT_EQ(error.field(), "pre");
  }
}

TEST(HfVocab, AFolderMayHaveNone) {
  const ModelSource source = folder_of_vocabulary(5).source();
  EXPECT_FALSE(source.has_vocabulary());
  EXPECT_NE(error_of(folder_of_vocabulary(5)).find("tokenizer.json"), std::string::npos);
}

std::string ranks(const std::vector<std::string>& more) {
  std::string lines;
  size_t rank = 0;
  auto add = [&](const std::string& token) {
    lines += base64_encode(std::as_bytes(std::span(token))) + fmt::format(" {}\n", rank++);
  };
  for (int byte = 0; byte < 256; ++byte) add(std::string(1, static_cast<char>(byte)));
  for (const std::string& token : more) add(token);
  return lines;
}

HfFolderWriter with_ranks(const std::string& lines) {
  HfFolderWriter writer = folder_of_vocabulary(300);
  writer.put("tiktoken.model", lines);
  writer.put("tokenizer_config.json", R"({"bos_token": "[BOS]", "added_tokens_decoder": {
      "259": {"content": "[BOS]", "special": true},
      "261": {"content": "<think>", "special": false}}})");
  return writer;
}

TEST(HfVocab, RanksBecomeMerges) {
  const ModelSource source = with_ranks(ranks({"ab", "bc", "abc"})).source();
  auto tokenizer = Tokenizer::from_source(source);
  EXPECT_EQ(tokenizer->vocab().pre, "kimi-k2");
  EXPECT_EQ(tokenizer->size(), 300u);
  EXPECT_EQ(tokenizer->bos(), 259);
  EXPECT_EQ(tokenizer->encode("abcbcab"), (Ids{258, 257, 256}));
  EXPECT_EQ(tokenizer->encode("abc bc"), (Ids{258, ' ', 257}));
  EXPECT_EQ(tokenizer->encode("[BOS]<think>", {.parse_special = true}), (Ids{259, 261}));
  EXPECT_EQ(tokenizer->token_text(260), "<|reserved_token_260|>");
  EXPECT_TRUE(tokenizer->is_control(260));
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("a\u00e9 \xFF")), "a\u00e9 \xFF");
}

TEST(HfVocab, RanksThatLieAreRefused) {
  for (const auto& [line, why] :
       {std::pair{"nonsense", "line 257"}, std::pair{"YWI= 300", "no rank below 300"},
        std::pair{"YWI= -1", "no rank"}, std::pair{"YWI= 256x", "no rank"},
        std::pair{"YW= 256", "base64"}, std::pair{"YWI= 255", "appears twice"},
        std::pair{"YWI= 257", "no token of rank 256"}, std::pair{"YQ== 256", "duplicate tokens"}}) {
    EXPECT_NE(error_of(with_ranks(ranks({}) + line + "\n")).find(why), std::string::npos)
        << line << ": " << error_of(with_ranks(ranks({}) + line + "\n"));
  }
  EXPECT_NE(error_of(with_ranks("YWI= 0\n")).find("the byte 0x00"), std::string::npos);
}

TEST(HfVocab, SpecialTokensStandBehindTheRanks) {
  for (const char* id : {"255", "400", "x"}) {
    HfFolderWriter writer = with_ranks(ranks({}));
    writer.put("tokenizer_config.json",
               fmt::format(R"({{"added_tokens_decoder": {{"{}": {{"content": "x"}}}}}})", id));
    EXPECT_NE(error_of(writer).find("added_tokens_decoder"), std::string::npos) << id;
  }
}

// An encoder's tokenizer.json gives the same ids as a GGUF vocabulary of the same kind.
TEST(HfVocab, WordPiece) {
  HfFolderWriter writer = folder_of_vocabulary(10);
  const std::string text = R"({"model": {"type": "WordPiece", "unk_token": "[UNK]", "vocab": {
      "[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "cat": 3, "##s": 4, "s": 5, "!": 6, "Cat": 7}},
      "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                     "strip_accents": null, "lowercase": LOWER},
      "pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": POST,
      "added_tokens": [{"id": 0, "content": "[UNK]", "special": true},
                       {"id": 1, "content": "[CLS]", "special": true},
                       {"id": 2, "content": "[SEP]", "special": true}]})";
  const std::string pair =
      R"({"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]})";
  const std::string made = R"({"type": "TemplateProcessing", "single": [
      {"SpecialToken": {"id": "[CLS]"}}, {"Sequence": {"id": "A"}},
      {"SpecialToken": {"id": "[SEP]"}}], "special_tokens": {"[CLS]": {"ids": [1]},
      "[SEP]": {"ids": [2]}}})";
  auto ids = [&](const std::string& lower, const std::string& post, std::string_view said) {
    std::string json = text;
    json.replace(json.find("LOWER"), 5, lower);
    json.replace(json.find("POST"), 4, post);
    writer.put("tokenizer.json", json);
    const ModelSource source = writer.source();
    return Tokenizer::from_source(source)->encode(said);
  };
  EXPECT_EQ(ids("true", pair, "C\u00e0ts s!"), (Ids{1, 3, 4, 5, 6, 2}));
  EXPECT_EQ(ids("false", made, "Cats dog"), (Ids{1, 7, 4, 0, 2}));
  // sentence-transformers lowers the case, though the tokenizer does not.
  writer.put("sentence_bert_config.json", R"({"do_lower_case": true})");
  EXPECT_EQ(ids("false", made, "Cats"), (Ids{1, 3, 4, 2}));
  EXPECT_EQ(ids("true", made, "[UNK]s"), (Ids{1, 0, 0, 0, 5, 2}));
}

TEST(HfVocab, Unigram) {
  HfFolderWriter writer = folder_of_vocabulary(10);
  auto read = [&](const std::string& normalizer, const std::string& pre) {
    writer.put("tokenizer.json", R"({"model": {"type": "Unigram", "unk_id": 3, "vocab": [
        ["<s>", 0.0], ["<pad>", 0.0], ["</s>", 0.0], ["<unk>", 0.0], ["\u2581ab", -2.0],
        ["\u2581", -3.0], ["a", -3.0], ["b", -3.5]]}, "normalizer": )" +
                                     normalizer + R"(, "pre_tokenizer": )" + pre +
                                     R"(, "post_processor": {"type": "RobertaProcessing",
        "sep": ["</s>", 2], "cls": ["<s>", 0]}, "added_tokens": [
        {"id": 0, "content": "<s>", "special": true}, {"id": 2, "content": "</s>", "special": true},
        {"id": 8, "content": "<mask>", "special": true, "lstrip": true}]})");
    return Tokenizer::from_source(writer.source());
  };
  const std::string metaspace =
      R"({"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always"})";
  const std::string words = R"({"type": "Sequence", "pretokenizers": [
      {"type": "WhitespaceSplit"}, )" +
                            metaspace + "]}";
  const auto older = read("null", words);
  EXPECT_EQ(older->encode("  ab  ba x "), (Ids{0, 4, 5, 7, 6, 5, 3, 2}));
  EXPECT_TRUE(older->warnings().empty());
  const auto newer = read(R"({"type": "Sequence", "normalizers": [
      {"type": "Strip", "strip_left": false, "strip_right": true},
      {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "\u2581"}]})",
                          metaspace);
  EXPECT_EQ(newer->encode("ab  ba "), (Ids{0, 4, 5, 7, 6, 2}));
  EXPECT_TRUE(newer->warnings().empty());
  EXPECT_EQ(read("null", metaspace)->warnings().size(), 1u);
}

}  // namespace
}  // namespace hearth
