// Tests the conversion of folders' vocabularies to GGUF keys: the same ids, or a reason why not.
#include "tokenizer/file_vocabulary.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "formats/gguf.h"
#include "formats/test_hf_folder.h"
#include "tokenizer/byte_level.h"
#include "tokenizer/hard_texts.h"
#include "tokenizer/tokenizer.h"

namespace hearth {
namespace {

constexpr const char* kByteLevel = R"({"type": "ByteLevel", "add_prefix_space": false)";
constexpr const char* kSpecial = R"({"id": 300, "content": "<s>", "special": true},
    {"id": 301, "content": "</s>", "special": true},
    {"id": 302, "content": "<stop>", "special": true},
    {"id": 303, "content": "::", "normalized": false})";

std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

// The parts of a tokenizer.json, as JSON.
struct Parts {
  std::string model, pre = "null", normalizer = "null", added = kSpecial, post = "null",
                     decoder = "null";

  std::string json() const {
    return fmt::format(
        R"({{"model": {}, "pre_tokenizer": {}, "normalizer": {}, "added_tokens": [{}],
            "post_processor": {}, "decoder": {}}})",
        model, pre, normalizer, added, post, decoder);
  }
};

std::string template_of(std::string_view before, std::string_view behind) {
  auto piece = [](std::string_view name) {
    return fmt::format(R"({{"SpecialToken": {{"id": "{}"}}}})", name);
  };
  const std::string first = before.empty() ? "" : piece(before) + ", ";
  const std::string last = behind.empty() ? "" : ", " + piece(behind);
  return fmt::format(
      R"({{"type": "TemplateProcessing", "single": [{}{{"Sequence": {{"id": "A"}}}}{}],
          "special_tokens": {{"<s>": {{"ids": [300]}}, "</s>": {{"ids": [301]}},
                              "<stop>": {{"ids": [302]}}}}}})",
      first, last);
}

// Makes a byte-level BPE: 256 bytes, and a few merges.
Parts byte_level(const std::string& pattern, bool nfc, const std::string& more = "") {
  std::string vocab;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    vocab += fmt::format("{}{}: {}", byte == 0 ? "" : ", ",
                         json_text(byte_level_character(static_cast<uint8_t>(byte))), byte);
  }
  Parts parts;
  parts.model = fmt::format(
      R"({{"type": "BPE", "vocab": {{{}, "ab": 256, "abc": 257, "12": 258, "Ġa": 259}},
          "merges": ["a b", "ab c", "1 2", "Ġ a"]{}}})",
      vocab, more);
  parts.pre = pattern.empty()
                  ? std::string(kByteLevel) + "}"
                  : fmt::format(R"({{"type": "Sequence", "pretokenizers": [{{"type": "Split",
                        "pattern": {{"Regex": {}}}, "behavior": "Isolated"}},
                        {}, "use_regex": false}}]}})",
                                json_text(pattern), kByteLevel);
  if (nfc) parts.normalizer = R"({"type": "NFC"})";
  return parts;
}

constexpr const char* kQwen2 = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+)"
                               R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

std::string threefold(std::string pattern) {
  const std::string one = R"(\p{N}| )";
  return pattern.replace(pattern.find(one), one.size(), R"(\p{N}{1,3}| )");
}

std::string decoder_of(const std::string& more) {
  return R"({"type": "Sequence", "decoders": [
      {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"},
      {"type": "Fuse"})" +
         more + "]}";
}

// Makes a vocabulary with byte tokens: <unk>, bytes, letters and the tokens that merges make.
Parts marked(const std::string& merges = R"("▁ a", "b c", "a b", "a bc", "ab c")",
             const std::string& tokens = R"("▁a", "bc", "ab", "abc")") {
  std::string vocab = R"("<unk>": 0)";
  for (int byte = 0; byte < 256; ++byte)
    vocab += fmt::format(R"(, "<0x{:02X}>": {})", byte, byte + 1);
  int id = 257;
  for (const char* letter : {"▁", "a", "b", "c", "d"}) {
    vocab += fmt::format(R"(, "{}": {})", letter, id++);
  }
  for (std::string_view rest = tokens; !rest.empty();) {
    const size_t end = std::min(rest.find(','), rest.size());
    vocab += fmt::format(", {}: {}", rest.substr(0, end), id++);
    rest.remove_prefix(std::min(end + 2, rest.size()));
  }
  Parts parts;
  parts.model = fmt::format(R"({{"type": "BPE", "unk_token": "<unk>", "byte_fallback": true,
      "fuse_unk": true, "vocab": {{{}}}, "merges": [{}]}})",
                            vocab, merges);
  parts.normalizer = R"({"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"},
      {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]})";
  parts.post = template_of("<s>", "");
  parts.decoder = decoder_of(R"(, {"type": "Strip", "content": " ", "start": 1, "stop": 0})");
  return parts;
}

constexpr uint32_t kTokens = 306;

HfFolderWriter folder_with(const std::string& tokenizer) {
  HfFolderWriter writer = folder_of_vocabulary(kTokens);
  writer.put("tokenizer.json", tokenizer);
  writer.put("tokenizer_config.json", R"({"bos_token": "<s>", "eos_token": "</s>"})");
  return writer;
}

struct Both {
  explicit Both(const HfFolderWriter& writer)
      : folder(writer.source()),
        made(file_vocabulary(folder)),
        file(parse_gguf(made.keys.finish(), "made.gguf")),
        own(Tokenizer::from_source(folder)),
        read(Tokenizer::from_source(file)) {}

  void expect_same(const std::string& text, bool special = false) const {
    const EncodeOptions options = {.parse_special = special};
    EXPECT_EQ(read->encode(text, options), own->encode(text, options)) << text;
  }
  std::string pre() const {
    return file.metadata().get<std::string>("tokenizer.ggml.pre").value_or("none");
  }

  ModelSource folder;
  FileVocabulary made;
  ModelSource file;
  std::unique_ptr<Tokenizer> own, read;
};

std::string refusal(const Parts& parts) {
  try {
    const ModelSource source = folder_with(parts.json()).source();
    file_vocabulary(source);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_NE(std::string(error.what()).find("--weights instead"), std::string::npos);
    return error.what();
  }
  return "no refusal";
}

void expect_refusal(const Parts& parts, const char* says) {
  const std::string why = refusal(parts);
  EXPECT_NE(why.find(says), std::string::npos) << why;
}

TEST(FileVocabulary, CutsHaveTheNameOfWhatCutsTheSame) {
  const struct {
    std::string pattern;
    bool nfc;
    const char* name;
  } cases[] = {{"", false, "gpt-2"},
               {"", true, "mpt"},
               {kQwen2, true, "qwen2"},
               {kQwen2, false, "megrez"},
               {threefold(kQwen2), false, "llama-bpe"}};
  for (const auto& [pattern, nfc, name] : cases) {
    const Both both(folder_with(byte_level(pattern, nfc).json()));
    EXPECT_EQ(both.pre(), name);
    both.expect_same("abc 1234's caf\xc3\xa9 cafe\xcc\x81 ::a");
    both.expect_same("<s>abc</s> a<stop>", true);
    EXPECT_TRUE(both.made.notes.empty()) << both.made.notes[0];
  }
}

TEST(FileVocabulary, CutsWithoutANameAreRefusedByAText) {
  expect_refusal(byte_level(R"(\w+|\W)", false), "no pre-tokenizer that GGUF has a name for");
  expect_refusal(byte_level(threefold(kQwen2), true), "but GGUF has no name for it with NFC");
  // This pattern differs only in runs of four digits.
  expect_refusal(byte_level(R"(\p{N}{1,4}|\P{N}+)", false), "such as '");
}

// Only the name of a pre-tokenizer says whether a whole piece becomes a token. If merges lead to
// all tokens, both ways give the same.
TEST(FileVocabulary, ChecksWholeTokens) {
  const std::string whole = R"(, "ignore_merges": true)";
  EXPECT_EQ(Both(folder_with(byte_level(kQwen2, true, whole).json())).pre(), "qwen2");
  Parts parts = byte_level(kQwen2, true, whole);
  const std::string merge = R"(, "ab c")";
  parts.model.erase(parts.model.find(merge), merge.size());
  expect_refusal(parts, "with ignore_merges");
  parts = byte_level(threefold(kQwen2), false);
  parts.model.erase(parts.model.find(merge), merge.size());
  EXPECT_EQ(Both(folder_with(parts.json())).pre(), "smaug-bpe");
}

TEST(FileVocabulary, GapsBecomeUnusedAndKindsStay) {
  const Both both(folder_with(byte_level("", false).json()));
  const Vocab& vocab = both.read->vocab();
  ASSERT_EQ(vocab.tokens.size(), 306u);
  for (const int32_t id : {260, 299, 304, 305}) {
    EXPECT_EQ(vocab.tokens[id], fmt::format("[PAD{}]", id));
    EXPECT_EQ(vocab.types[id], TokenType::kUnused);
  }
  EXPECT_EQ(vocab.types[300], TokenType::kControl);
  EXPECT_EQ(vocab.types[303], TokenType::kUserDefined);
  EXPECT_EQ(vocab.bos, 300);
  EXPECT_EQ(vocab.eos, 301);
  EXPECT_FALSE(both.read->adds_bos());
}

TEST(FileVocabulary, KeepsEndTokensOfTheGenerationConfig) {
  HfFolderWriter writer = folder_with(byte_level("", false).json());
  writer.put("generation_config.json", R"({"eos_token_id": [302, 5, 6, 301]})");
  const Both both(writer);
  EXPECT_EQ(both.own->vocab().eog, (std::vector<int32_t>{5, 6, 301, 302}));
  EXPECT_EQ(both.read->vocab().eog, (std::vector<int32_t>{5, 6, 301}));
  ASSERT_EQ(both.made.notes.size(), 1u);
  EXPECT_NE(both.made.notes[0].find("302 '<stop>'"), std::string::npos) << both.made.notes[0];
}

// The token put behind a text may differ from the one that ends a generation.
TEST(FileVocabulary, TokensAroundATextStay) {
  Parts parts = byte_level("", false);
  parts.post = template_of("<s>", "<stop>");
  const Both both(folder_with(parts.json()));
  both.expect_same("abc");
  EXPECT_EQ(both.read->encode("a").back(), 302);
  EXPECT_TRUE(both.read->is_eog(301));
  parts.post = R"({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>"}},
      {"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}],
      "special_tokens": {"<s>": {"ids": [300]}}})";
  const Both twice(folder_with(parts.json()));
  EXPECT_EQ(twice.read->encode("ab"), std::vector<int32_t>{256});
  ASSERT_EQ(twice.made.notes.size(), 1u);
  EXPECT_NE(twice.made.notes[0].find("adds 2 tokens before a text"), std::string::npos);
}

TEST(FileVocabulary, ReportsWhiteSpaceThatSpecialTokensTake) {
  Parts parts = byte_level("", false);
  parts.added += R"(, {"id": 304, "content": "<mask>", "special": true, "lstrip": true})";
  const Both both(folder_with(parts.json()));
  ASSERT_EQ(both.made.notes.size(), 1u);
  EXPECT_NE(both.made.notes[0].find("1 special token"), std::string::npos);
  EXPECT_NE(both.made.notes[0].find("<mask>"), std::string::npos);
  parts.added = R"({"id": 304, "content": "ab", "single_word": true})";
  parts.model.replace(parts.model.find(R"("ab": 256)"), 9, R"("ax": 256)");
  parts.model.replace(parts.model.find(R"("a b", "ab c", )"), 15, "");
  expect_refusal(parts,
                 "': a GGUF file with its kind of vocabulary would tokenize or decode some texts "
                 "differently, such as '");
}

TEST(FileVocabulary, MergesBecomeScores) {
  const Both both(folder_with(marked().json()));
  EXPECT_EQ(both.file.metadata().get<std::string>("tokenizer.ggml.model"), "llama");
  for (const char* text : {"abc", " abc  d", "a bc ab", "x\xc3\xa9\n", "a::b"}) {
    both.expect_same(text);
  }
  both.expect_same("<s>a bc</s>ab", true);
  const Vocab& vocab = both.read->vocab();
  EXPECT_TRUE(vocab.add_space_prefix);
  EXPECT_TRUE(both.read->adds_bos());
  EXPECT_EQ(vocab.types[0], TokenType::kUnknown);
  EXPECT_EQ(vocab.types[1], TokenType::kByte);
  Parts parts = marked();
  parts.normalizer = R"({"type": "Replace", "pattern": {"String": " "}, "content": "▁"})";
  // The folder's decoder drops a space at the beginning of a text; that of the GGUF file would not.
  expect_refusal(parts,
                 "': a GGUF file with its kind of vocabulary would tokenize or decode some texts "
                 "differently, such as '");
  parts.decoder = decoder_of("");
  const Both without(folder_with(parts.json()));
  EXPECT_FALSE(without.read->vocab().add_space_prefix);
  without.expect_same("abc a");
}

TEST(FileVocabulary, RefusesMergesThatScoresCannotExpress) {
  expect_refusal(marked(R"("▁ a", "a b", "ab c", "b c")"), "no rule merges 'a' and 'bc'");
  expect_refusal(marked(R"("b c", "a bc", "a b", "ab c")", R"("bc", "ab", "abc")"),
                 "' are not consecutive, which the scores of a GGUF file cannot express: load the "
                 "folder with --weights instead");
  Parts parts = marked();
  parts.normalizer = "null";
  parts.pre = R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first"})";
  expect_refusal(parts, "prepend_scheme first");
  parts.pre = R"({"type": "Digits", "individual_digits": true})";
  expect_refusal(parts, "its pre_tokenizer splits");
  parts.normalizer = R"({"type": "NFC"})";
  expect_refusal(parts, "NFC");
}

// Gemma's tokens of several spaces all have one score, and the merges that make one stand among
// those that make others.
TEST(FileVocabulary, RunsHaveRulesAmongEachOthers) {
  Parts parts =
      marked(R"("▁ ▁", "▁ ▁▁", "▁ ▁▁▁", "▁▁ ▁", "▁▁ ▁▁", "▁▁▁ ▁")", R"("▁▁", "▁▁▁", "▁▁▁▁")");
  parts.added += R"(, {"id": 262, "content": "▁▁", "normalized": false})";
  const Both both(folder_with(parts.json()));
  EXPECT_EQ(both.own->vocab().types[262], TokenType::kUserDefined);
  for (const char* text : {"a  b", "a   b", "      ", "  a"}) both.expect_same(text);
  EXPECT_EQ(both.read->encode("   ").size(), 2u);
}

TEST(FileVocabulary, WordPiecesAndUnigramsStayAsTheyAre) {
  HfFolderWriter writer = folder_with(R"({"model": {"type": "WordPiece", "unk_token": "[UNK]",
      "vocab": {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "a": 3, "##b": 4, "c": 5}},
      "normalizer": {"type": "BertNormalizer", "lowercase": false},
      "pre_tokenizer": {"type": "BertPreTokenizer"},
      "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]},
      "added_tokens": [{"id": 1, "content": "[CLS]", "special": true},
                       {"id": 2, "content": "[SEP]", "special": true}]})");
  writer.put("tokenizer_config.json", R"({"cls_token": "[CLS]", "sep_token": "[SEP]"})");
  const Both words(writer);
  EXPECT_EQ(words.read->encode("ab A c"), (std::vector<int32_t>{1, 3, 4, 0, 5, 2}));
  words.expect_same("ab A c");
  EXPECT_FALSE(words.read->vocab().lowercase);
  EXPECT_EQ(words.file.metadata().get<uint32_t>("tokenizer.ggml.seperator_token_id"), 2u);
  writer.put("tokenizer.json", R"({"model": {"type": "Unigram", "unk_id": 0, "vocab": [
      ["<unk>", 0], ["▁", -2], ["a", -3], ["b", -3], ["▁ab", -2.5]]},
      "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"},
          {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"}]}})");
  const Both pieces(writer);
  for (const char* text : {"ab  ba x", "", " a "}) pieces.expect_same(text);
  EXPECT_EQ(pieces.file.metadata().get<std::string>("tokenizer.ggml.model"), "t5");
}

TEST(FileVocabulary, AFolderWithoutOneHasNone) {
  const ModelSource source = folder_of_vocabulary(kTokens).source();
  const FileVocabulary made = file_vocabulary(source);
  EXPECT_FALSE(parse_gguf(made.keys.finish(), "made.gguf").has_vocabulary());
  ASSERT_EQ(made.notes.size(), 1u);
  EXPECT_NE(made.notes[0].find("has no tokenizer"), std::string::npos);
}

TEST(HardTexts, HoldEveryThreeOfTheirClasses) {
  const std::vector<std::string> texts = hard_texts();
  EXPECT_GT(texts.size(), 15000u);
  for (const char* text : {"1 9", "'s\n", "a1 ", "1111", " \n a"}) {
    EXPECT_NE(std::ranges::find(texts, text), texts.end()) << text;
  }
}

}  // namespace
}  // namespace hearth
