#include "tokenizer/vocabulary.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "base/error.h"
#include "formats/gguf.h"
#include "formats/gguf_writer.h"
#include "tokenizer/test_charsmap.h"
#include "tokenizer/test_vocab.h"
#include "tokenizer/tokenizer.h"

namespace hearth {
namespace {

GgufWriter writer_of(const Vocab& vocab, std::string_view model) {
  GgufWriter writer;
  writer.set("general.architecture", "test");
  writer.set("tokenizer.ggml.model", model);
  writer.set("tokenizer.ggml.tokens", vocab.tokens);
  std::vector<int32_t> types;
  for (TokenType type : vocab.types) types.push_back(static_cast<int32_t>(type));
  writer.set("tokenizer.ggml.token_type", types);
  if (vocab.kind == VocabKind::kBpe) {
    writer.set("tokenizer.ggml.merges", merge_texts(vocab));
    writer.set("tokenizer.ggml.pre", vocab.pre);
  }
  if (!vocab.scores.empty()) writer.set("tokenizer.ggml.scores", vocab.scores);
  return writer;
}

GgufWriter bpe_writer() { return writer_of(bpe_vocab({"a b", "ab c"}, "qwen2"), "gpt2"); }

ModelSource file_of(const GgufWriter& writer) { return parse_gguf(writer.finish(), "test.gguf"); }

std::string error_of(const GgufWriter& writer, ErrorCode code,
                     const std::optional<std::string>& pre = std::nullopt) {
  try {
    Tokenizer::from_source(file_of(writer), pre);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    bool of_field = std::string_view(error.what()).starts_with("pre ");
    EXPECT_EQ(error.field(), of_field ? "pre" : "") << error.what();
    EXPECT_TRUE(of_field || code != ErrorCode::kUsage) << error.what();
    return error.what();
  }
  return "no error";
}

void expect_error(const GgufWriter& writer, ErrorCode code, std::string_view part,
                  const std::optional<std::string>& pre = std::nullopt) {
  std::string error = error_of(writer, code, pre);
  EXPECT_NE(error.find(part), std::string::npos) << error;
}

TEST(Vocabulary, ByteLevelBpe) {
  GgufWriter writer = bpe_writer();
  writer.set("tokenizer.ggml.bos_token_id", 1u);
  writer.set("tokenizer.ggml.eos_token_id", 2u);
  auto tokenizer = Tokenizer::from_source(file_of(writer));
  EXPECT_EQ(tokenizer->vocab().pre, "qwen2");
  EXPECT_EQ(tokenizer->encode("abc"), std::vector<int32_t>{257});
  EXPECT_EQ(tokenizer->bos(), 1);
  EXPECT_TRUE(tokenizer->is_eog(2));
  EXPECT_TRUE(tokenizer->warnings().empty());
  writer.set("tokenizer.ggml.add_bos_token", true);
  writer.set("tokenizer.ggml.add_eos_token", true);
  EXPECT_EQ(Tokenizer::from_source(file_of(writer))->encode("abc"),
            (std::vector<int32_t>{1, 257, 2}));
}

TEST(Vocabulary, SomePreTokenizersBringBos) {
  GgufWriter writer = bpe_writer();
  writer.set("tokenizer.ggml.pre", "llama-bpe");
  EXPECT_EQ(read_vocabulary(file_of(writer)).add_bos, true);
  writer.set("tokenizer.ggml.add_bos_token", false);
  EXPECT_EQ(read_vocabulary(file_of(writer)).add_bos, false);
}

TEST(Vocabulary, ThePreTokenizerCanBeOverridden) {
  GgufWriter writer = bpe_writer();
  EXPECT_EQ(read_vocabulary(file_of(writer), "gpt-4o").pre, "gpt-4o");
  expect_error(writer, ErrorCode::kUsage, "pre martian is not a known pre-tokenizer", "martian");
  writer.set("tokenizer.ggml.pre", "martian");
  expect_error(writer, ErrorCode::kUnsupported, "'martian'");
  expect_error(writer, ErrorCode::kUnsupported, "pre must name a pre-tokenizer");
  expect_error(writer, ErrorCode::kUnsupported, "llama-bpe");
  EXPECT_EQ(read_vocabulary(file_of(writer), "qwen2").pre, "qwen2");
}

TEST(Vocabulary, AMissingPreTokenizerIsReported) {
  GgufWriter writer = writer_of(bpe_vocab({}, ""), "gpt2");
  Vocab vocab = read_vocabulary(file_of(writer));
  EXPECT_EQ(vocab.pre, "default");
  ASSERT_EQ(vocab.warnings.size(), 1u);
  EXPECT_NE(vocab.warnings[0].find("tokenizer.ggml.pre"), std::string::npos);
  EXPECT_TRUE(read_vocabulary(file_of(writer), "default").warnings.empty());
}

TEST(Vocabulary, SentencePieceDefaults) {
  GgufWriter writer = writer_of(spm_vocab({{"_a", -1}, {"_", -2}, {"a", -2}}), "llama");
  auto tokenizer = Tokenizer::from_source(file_of(writer));
  EXPECT_EQ(tokenizer->encode("a"), (std::vector<int32_t>{1, 259}));
  EXPECT_EQ(tokenizer->vocab().unk, 0);
  EXPECT_EQ(tokenizer->eos(), 2);
  writer.set("tokenizer.ggml.add_space_prefix", false);
  writer.set("tokenizer.ggml.add_bos_token", false);
  EXPECT_EQ(Tokenizer::from_source(file_of(writer))->encode("a"), std::vector<int32_t>{261});
  expect_error(writer, ErrorCode::kUsage, "pre qwen2 works only with byte-level BPE", "qwen2");
}

TEST(Vocabulary, UnigramDefaults) {
  GgufWriter writer = writer_of(unigram_vocab({{"_a", -1}, {"_", -2}, {"a", -2}}), "t5");
  auto tokenizer = Tokenizer::from_source(file_of(writer));
  EXPECT_EQ(tokenizer->encode(" a  b "), (std::vector<int32_t>{4, 5, 3, 2}));
  EXPECT_EQ(tokenizer->vocab().unk, 3);
  EXPECT_TRUE(tokenizer->is_eog(2));
  writer.set("tokenizer.ggml.cls_token_id", 0u);
  writer.set("tokenizer.ggml.seperator_token_id", 1u);
  writer.set("tokenizer.ggml.add_bos_token", true);
  writer.set("tokenizer.ggml.add_space_prefix", false);
  writer.set("tokenizer.ggml.remove_extra_whitespaces", false);
  EXPECT_EQ(Tokenizer::from_source(file_of(writer))->encode("a  "),
            (std::vector<int32_t>{0, 6, 5, 5, 1}));
  expect_error(writer, ErrorCode::kUsage, "that of test.gguf is SentencePiece unigram", "qwen2");
}

TEST(Vocabulary, CharacterMapsAreBytesOrBase64) {
  GgufWriter writer = writer_of(unigram_vocab({{"_", -2}, {"a", -2}}), "t5");
  constexpr std::string_view kKey = "tokenizer.ggml.precompiled_charsmap";
  const std::string map = CharsmapMaker::make({{"b", "a"}, {"c", ""}});
  auto expect_it_is_read = [&] {
    EXPECT_EQ(read_vocabulary(file_of(writer)).charsmap, map);
    EXPECT_EQ(Tokenizer::from_source(file_of(writer))->encode("cbc"),
              (std::vector<int32_t>{4, 5, 2}));
  };
  writer.set(kKey, std::vector<uint8_t>(map.begin(), map.end()));
  expect_it_is_read();
  writer.set(kKey, std::vector<int8_t>(map.begin(), map.end()));
  expect_it_is_read();
  writer.set(kKey, "AAAAAA==");
  EXPECT_EQ(read_vocabulary(file_of(writer)).charsmap, std::string(4, '\0'));
  expect_error(writer, ErrorCode::kFile, "precompiled_charsmap has 0 bytes for a trie of 0");
  writer.set(kKey, "A");
  expect_error(writer, ErrorCode::kFile, "precompiled_charsmap is a string, but not base64");
  writer.set(kKey, std::vector<int32_t>{1, 2});
  expect_error(writer, ErrorCode::kFile, "precompiled_charsmap is array of int32");
  writer.set(kKey, 7u);
  expect_error(writer, ErrorCode::kFile, "precompiled_charsmap is uint32");
  writer.set(kKey, std::vector<uint8_t>{});
  EXPECT_EQ(read_vocabulary(file_of(writer)).charsmap, "");
}

TEST(Vocabulary, WordPieceFindsItsTokensByName) {
  GgufWriter writer = writer_of(wordpiece_vocab({"_a"}), "bert");
  auto tokenizer = Tokenizer::from_source(file_of(writer));
  EXPECT_EQ(tokenizer->encode("A b"), (std::vector<int32_t>{2, 5, 1, 3}));
  EXPECT_TRUE(tokenizer->is_eog(3));
  writer.set("tokenizer.ggml.cls_token_id", 4u);
  writer.set("tokenizer.ggml.seperator_token_id", 0u);
  writer.set("tokenizer.ggml.normalizer.lowercase", false);
  EXPECT_EQ(Tokenizer::from_source(file_of(writer))->encode("A a"),
            (std::vector<int32_t>{4, 1, 5, 0}));
}

TEST(Vocabulary, Phi3SwallowsSpaceAfterSpecialTokens) {
  Vocab vocab = spm_vocab({{"_", -1}});
  int32_t user = add_token(vocab, "<|user|>", TokenType::kControl);
  GgufWriter writer = writer_of(vocab, "llama");
  EXPECT_TRUE(read_vocabulary(file_of(writer)).added.empty());
  writer.set("general.name", "Phi-3-mini");
  std::vector<AddedRule> rules = read_vocabulary(file_of(writer)).added;
  ASSERT_EQ(rules.size(), 2u);
  EXPECT_EQ(rules[0].id, 2);
  EXPECT_EQ(rules[1].id, user);
  EXPECT_TRUE(rules[0].strip_right && rules[1].strip_right && !rules[0].strip_left);
}

TEST(Vocabulary, NoVocabulary) {
  GgufWriter writer;
  writer.set("general.architecture", "test");
  expect_error(writer, ErrorCode::kFile, "the file has no vocabulary");
  EXPECT_FALSE(file_of(writer).has_vocabulary());
  writer.set("tokenizer.ggml.model", "no_vocab");
  expect_error(writer, ErrorCode::kFile, "the file has no vocabulary");
  EXPECT_FALSE(file_of(writer).has_vocabulary());
  writer.set("tokenizer.ggml.model", "gpt2");
  expect_error(writer, ErrorCode::kFile, "the file has no vocabulary");
  writer.set("tokenizer.ggml.tokens", std::vector<std::string>{});
  writer.set("tokenizer.ggml.merges", std::vector<std::string>{});
  expect_error(writer, ErrorCode::kFile, "the file has no vocabulary");
  writer.set("tokenizer.ggml.model", "rwkv");
  expect_error(writer, ErrorCode::kUnsupported, "'rwkv'");
}

TEST(Vocabulary, RefusesFieldsThatContradictEachOther) {
  struct Case {
    const char* part;
    std::function<void(GgufWriter&)> damage;
  };
  const Case cases[] = {
      {"tokenizer.ggml.token_type has 3",
       [](GgufWriter& w) {
         w.set("tokenizer.ggml.token_type", std::vector<int32_t>{1, 1, 1});
       }},
      {"tokenizer.ggml.token_type[1] is 9",
       [](GgufWriter& w) {
         w.set("tokenizer.ggml.token_type", std::vector<int32_t>{1, 9});
       }},
      {"tokenizer.ggml.bos_token_id is 258",
       [](GgufWriter& w) { w.set("tokenizer.ggml.bos_token_id", 258u); }},
      {"tokenizer.ggml.eos_token_id is 4000000000",
       [](GgufWriter& w) { w.set("tokenizer.ggml.eos_token_id", 4000000000u); }},
      {"tokenizer.ggml.eot_token_id is -2",
       [](GgufWriter& w) { w.set("tokenizer.ggml.eot_token_id", -2); }},
      {"tokenizer.ggml.unknown_token_id",
       [](GgufWriter& w) { w.set("tokenizer.ggml.unknown_token_id", "text"); }},
      {"tokenizer.ggml.tokens", [](GgufWriter& w) { w.set("tokenizer.ggml.tokens", 1.0f); }},
      {"tokenizer.ggml.merges[0]",
       [](GgufWriter& w) { w.set("tokenizer.ggml.merges", std::vector<std::string>{"no such"}); }},
  };
  for (const Case& damaged : cases) {
    GgufWriter writer = bpe_writer();
    damaged.damage(writer);
    expect_error(writer, ErrorCode::kFile, damaged.part);
  }
}

TEST(Vocabulary, RefusesMergesThatLie) {
  GgufWriter writer = writer_of(bpe_vocab({"a b"}), "gpt2");
  for (const char* merge : {"", "a", "ab", "a ", " a", " "}) {
    writer.set("tokenizer.ggml.merges", std::vector<std::string>{"a b", merge});
    expect_error(writer, ErrorCode::kFile, "tokenizer.ggml.merges[1] is '");
  }
  for (const char* merge : {"a xyz", "xyz a", "a c"}) {
    writer.set("tokenizer.ggml.merges", std::vector<std::string>{"a b", merge});
    expect_error(writer, ErrorCode::kFile, "the vocabulary has no token '");
  }
}

TEST(Vocabulary, RefusesScoresThatDoNotFit) {
  GgufWriter writer = writer_of(spm_vocab({}), "llama");
  writer.set("tokenizer.ggml.scores", std::vector<float>{1, 2});
  expect_error(writer, ErrorCode::kFile, "tokenizer.ggml.scores has 2 values");
  std::vector<float> scores(259, 0.0f);
  scores[7] = std::numeric_limits<float>::quiet_NaN();
  writer.set("tokenizer.ggml.scores", scores);
  expect_error(writer, ErrorCode::kFile, "tokenizer.ggml.scores[7]");
}

TEST(Vocabulary, MissingFieldsAreNamed) {
  GgufWriter writer;
  writer.set("general.architecture", "test");
  writer.set("tokenizer.ggml.tokens", std::vector<std::string>{"a"});
  writer.set("tokenizer.ggml.model", "gpt2");
  expect_error(writer, ErrorCode::kFile, "tokenizer.ggml.merges is missing");
  writer.set("tokenizer.ggml.model", "llama");
  expect_error(writer, ErrorCode::kFile, "tokenizer.ggml.scores is missing");
  writer.set("tokenizer.ggml.model", "t5");
  expect_error(writer, ErrorCode::kFile, "tokenizer.ggml.scores is missing");
  writer.set("tokenizer.ggml.model", "bert");
  expect_error(writer, ErrorCode::kFile, "tokenizer.ggml.unknown_token_id is missing");
}

TEST(Vocabulary, IdsThatNothingUsesMayBeWrong) {
  GgufWriter writer = bpe_writer();
  writer.set("tokenizer.ggml.padding_token_id", 99999u);
  writer.set("tokenizer.ggml.bos_token_id", -1);
  auto tokenizer = Tokenizer::from_source(file_of(writer));
  ASSERT_EQ(tokenizer->warnings().size(), 1u);
  EXPECT_NE(tokenizer->warnings()[0].find("padding_token_id is 99999"), std::string::npos);
  EXPECT_EQ(tokenizer->bos(), Vocab::kNone);
}

}  // namespace
}  // namespace hearth
