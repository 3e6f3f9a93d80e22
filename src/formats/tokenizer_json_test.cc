#include "formats/tokenizer_json.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "base/error.h"

namespace hearth {
namespace {

// The parts of a tokenizer.json, by key, as JSON.
struct Parts {
  std::map<std::string, std::string> top = {{"added_tokens", "[]"},
                                            {"normalizer", "null"},
                                            {"pre_tokenizer", "null"},
                                            {"decoder", "null"},
                                            {"post_processor", "null"}};
  std::map<std::string, std::string> model = {{"type", R"("BPE")"},
                                              {"vocab", R"({"a": 0, "b": 1, "ab": 2, " ": 3})"},
                                              {"merges", R"(["a b"])"}};

  static std::string object(const std::map<std::string, std::string>& members) {
    std::string text;
    for (const auto& [key, value] : members) {
      text += (text.empty() ? "{" : ", ") + ("\"" + key + "\": " + value);
    }
    return text + "}";
  }
  Vocab read() const {
    std::map<std::string, std::string> all = top;
    all["model"] = object(model);
    const std::string text = object(all);
    std::vector<std::byte> bytes(text.size());
    std::memcpy(bytes.data(), text.data(), text.size());
    Vocab vocab;
    read_tokenizer_json(MappedFile::own(std::move(bytes), "tokenizer.json"), 20, &vocab);
    return vocab;
  }
  std::string error(ErrorCode code) const {
    try {
      read();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      EXPECT_NE(std::string(error.what()).find("tokenizer.json"), std::string::npos);
      return error.what();
    }
    return "no error";
  }
};

void expect_error(const Parts& parts, ErrorCode code, const std::string& part) {
  const std::string said = parts.error(code);
  EXPECT_NE(said.find(part), std::string::npos) << said << "\n  does not say: " << part;
}

TEST(TokenizerJson, ReadsTokensAndMergesOfBothForms) {
  Parts parts;
  for (const char* merges : {R"(["a b"])", R"([["a", "b"]])"}) {
    parts.model["merges"] = merges;
    const Vocab vocab = parts.read();
    EXPECT_EQ(vocab.tokens, (std::vector<std::string>{"a", "b", "ab", " "}));
    ASSERT_EQ(vocab.merges.size(), 1u);
    EXPECT_EQ(vocab.merges[0].merged, 2);
    EXPECT_FALSE(*vocab.add_bos);
  }
}

TEST(TokenizerJson, TheLastOfRepeatedMergesCounts) {
  Parts parts;
  parts.model["vocab"] = R"({"a": 0, "b": 1, "ab": 2, "c": 3, "bc": 4})";
  parts.model["merges"] = R"(["a b", "b c", "a b"])";
  for (const MergeRule& rule : parts.read().merges) {
    EXPECT_EQ(rule.rank, rule.left == 0 ? 2u : 1u);
  }
  EXPECT_EQ(parts.read().merges.size(), 2u);
}

TEST(TokenizerJson, AddedTokensHaveFlagsAndMayLeaveHoles) {
  Parts parts;
  parts.top["added_tokens"] = R"([
      {"id": 6, "content": "<s>", "special": true, "lstrip": true},
      {"id": 2, "content": "ab", "special": false, "single_word": true, "rstrip": true}])";
  const Vocab vocab = parts.read();
  ASSERT_EQ(vocab.tokens.size(), 7u);
  EXPECT_EQ(vocab.types[6], TokenType::kControl);
  EXPECT_EQ(vocab.types[2], TokenType::kUserDefined);
  EXPECT_EQ(vocab.types[4], TokenType::kUnused);
  ASSERT_EQ(vocab.added.size(), 2u);
  const AddedRule &ab = vocab.added[0], &bos = vocab.added[1];
  EXPECT_TRUE(ab.single_word && ab.strip_right && ab.normalized && !ab.strip_left && !ab.outside);
  EXPECT_TRUE(bos.strip_left && bos.outside && !bos.normalized && !bos.single_word);
}

TEST(TokenizerJson, ReadsSteps) {
  Parts parts;
  parts.model["byte_fallback"] = parts.model["fuse_unk"] = parts.model["ignore_merges"] = "true";
  parts.top["normalizer"] = R"({"type": "Sequence", "normalizers": [{"type": "NFC"},
      {"type": "Prepend", "prepend": "_"},
      {"type": "Replace", "pattern": {"Regex": "\\s"}, "content": "x"}]})";
  parts.top["pre_tokenizer"] = R"({"type": "Sequence", "pretokenizers": [
      {"type": "Split", "pattern": {"String": "a"}, "behavior": "MergedWithNext", "invert": true},
      {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": false}]},
      {"type": "Metaspace", "replacement": "_", "prepend_scheme": "first", "split": false},
      {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}]})";
  parts.top["decoder"] = R"({"type": "Sequence", "decoders": [{"type": "ByteFallback"},
      {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 2}]})";
  const TextRules rules = *parts.read().rules;
  EXPECT_TRUE(rules.byte_fallback && rules.fuse_unk && rules.ignore_merges);
  ASSERT_EQ(rules.normalize.size(), 3u);
  EXPECT_EQ(std::get<ReplaceStep>(rules.normalize[2]).content, "x");
  ASSERT_EQ(rules.cut.size(), 4u);
  const auto& split = std::get<SplitStep>(rules.cut[0]);
  EXPECT_TRUE(split.invert && !split.pattern.is_regex);
  EXPECT_EQ(split.behavior, CutBehavior::kMergedWithNext);
  EXPECT_EQ(std::get<SplitStep>(rules.cut[1]).behavior, CutBehavior::kContiguous);
  EXPECT_EQ(std::get<MetaspaceStep>(rules.cut[2]).prepend, PrependScheme::kFirst);
  EXPECT_FALSE(std::get<ByteLevelStep>(rules.cut[3]).use_regex);
  ASSERT_EQ(rules.decode.size(), 3u);
  EXPECT_EQ(std::get<StripStep>(rules.decode[2]).end, 2u);
}

TEST(TokenizerJson, OldMetaspaceHasAFlag) {
  Parts parts;
  parts.top["pre_tokenizer"] =
      R"({"type": "Metaspace", "replacement": "_", "add_prefix_space": false})";
  const TextRules rules = *parts.read().rules;
  EXPECT_EQ(std::get<MetaspaceStep>(rules.cut[0]).prepend, PrependScheme::kNever);
}

TEST(TokenizerJson, TheTemplateSaysWhatStandsAroundAText) {
  Parts parts;
  parts.top["post_processor"] = R"({"type": "Sequence", "processors": [{"type": "ByteLevel"},
      {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x"}},
       {"Sequence": {"id": "A"}}, {"SpecialToken": {"id": "y"}}],
       "pair": [{"Sequence": {"id": "A"}}, {"SpecialToken": {"id": "y"}},
                {"SpecialToken": {"id": "x"}}, {"Sequence": {"id": "B", "type_id": 1}}],
       "special_tokens": {"x": {"ids": [1, 2]}, "y": {"ids": [0]}}}]})";
  const Vocab vocab = parts.read();
  EXPECT_EQ(vocab.before, (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(vocab.behind, (std::vector<int32_t>{0}));
  EXPECT_EQ(vocab.between, (std::vector<int32_t>{0, 1, 2}));
  EXPECT_TRUE(*vocab.add_bos && vocab.add_eos);
}

TEST(TokenizerJson, RobertaHasTwoSeparatorsBetweenTwoTexts) {
  for (auto [type, count] : {std::pair{"BertProcessing", 1u}, std::pair{"RobertaProcessing", 2u}}) {
    Parts parts;
    parts.top["post_processor"] =
        fmt::format(R"({{"type": "{}", "sep": ["y", 1], "cls": ["x", 0]}})", type);
    const Vocab vocab = parts.read();
    EXPECT_EQ(vocab.before, (std::vector<int32_t>{0}));
    EXPECT_EQ(vocab.between, std::vector<int32_t>(count, 1));
    EXPECT_EQ(vocab.behind, (std::vector<int32_t>{1}));
  }
}

TEST(TokenizerJson, RefusesUnknownStepsByName) {
  struct Case {
    const char* key;
    const char* value;
    const char* named;
  };
  for (const Case& c :
       {Case{"normalizer", R"({"type": "NFKC"})", "normalizer.type = \"NFKC\""},
        Case{"pre_tokenizer", R"({"type": "Sequence", "pretokenizers": [
                             {"type": "Whitespace"}]})",
             "pretokenizers[0].type = \"Whitespace\""},
        Case{"pre_tokenizer", R"({"type": "Split", "pattern": {"String": "a"},
                             "behavior": "Kept"})",
             "pre_tokenizer.behavior = \"Kept\""},
        Case{"decoder", R"({"type": "CTC"})", "decoder.type = \"CTC\""},
        Case{"post_processor", R"({"type": "PairProcessing"})", "PairProcessing"}}) {
    Parts parts;
    parts.top[c.key] = c.value;
    expect_error(parts, ErrorCode::kUnsupported, c.named);
  }
  for (const auto& [key, value] : {std::pair{"type", R"("WordLevel")"}, std::pair{"dropout", "0.1"},
                                   std::pair{"continuing_subword_prefix", R"("##")"},
                                   std::pair{"end_of_word_suffix", R"("</w>")"}}) {
    Parts parts;
    parts.model[key] = value;
    expect_error(parts, ErrorCode::kUnsupported, std::string("model.") + key);
  }
  Parts parts;
  parts.model["dropout"] = "0.0";
  parts.model["continuing_subword_prefix"] = R"("")";
  EXPECT_EQ(parts.read().tokens.size(), 4u);
}

TEST(TokenizerJson, IdsLieInTheVocabularyAndStandOnce) {
  Parts parts;
  for (const auto& [vocab, why] :
       {std::pair{R"({"a": 20})", "beyond the 20 tokens"}, std::pair{R"({"a": -1})", "beyond"},
        std::pair{R"({"a": 0, "b": 0})", "the id 0, which 'a' already has"},
        std::pair{R"({"a": "0"})", "model.vocab"}, std::pair{R"({"a": 1.5})", "model.vocab"},
        std::pair{R"({"a": 99999999999999999999})", "model.vocab"},
        std::pair{"[]", "model.vocab"}}) {
    parts.model["vocab"] = vocab;
    expect_error(parts, ErrorCode::kFile, why);
  }
  for (const auto& [added, why] :
       {std::pair{R"([{"id": 20, "content": "x"}])", "added_tokens[0].id = 20"},
        std::pair{R"([{"id": 0, "content": "x"}])", "the id 0, which 'a' already has"},
        std::pair{R"([{"id": 5, "content": "a"}])", "the id 5, and model.vocab 0"},
        std::pair{R"([{"id": 0, "content": "a"}, {"id": 0, "content": "a"}])", "the id 0 twice"},
        std::pair{R"([{"content": "x"}])", "id"}, std::pair{R"([{"id": 5}])", "content"},
        std::pair{R"([{"id": 5, "content": "x", "lstrip": 1}])", "lstrip"}}) {
    Parts damaged;
    damaged.top["added_tokens"] = added;
    expect_error(damaged, ErrorCode::kFile, why);
  }
}

TEST(TokenizerJson, MergesNameTokens) {
  for (const auto& [merges, why] :
       {std::pair{R"(["a x"])", "merges[0] needs the token 'x'"},
        std::pair{R"(["b a"])", "needs the token 'ba'"}, std::pair{R"(["ab"])", "merges[0]"},
        std::pair{R"(["a b", "a b c"])", "merges[1]"}, std::pair{R"([["a"]])", "merges[0]"},
        std::pair{R"([["a", 1]])", "merges[0]"}, std::pair{R"([1])", "merges[0]"},
        std::pair{"{}", "model.merges"}}) {
    Parts parts;
    parts.model["merges"] = merges;
    expect_error(parts, ErrorCode::kFile, why);
  }
}

TEST(TokenizerJson, FieldsHaveTheirTypes) {
  Parts parts;
  parts.model["unk_token"] = R"("x")";
  expect_error(parts, ErrorCode::kFile, "model.unk_token");
  for (const auto& [key, value] :
       {std::pair{"normalizer", "[]"}, std::pair{"normalizer", "{}"},
        std::pair{"normalizer", R"({"type": 1})"},
        std::pair{"normalizer", R"({"type": "Prepend"})"},
        std::pair{"pre_tokenizer", R"({"type": "Sequence"})"},
        std::pair{"pre_tokenizer", R"({"type": "Split", "pattern": "a", "behavior": "Removed"})"},
        std::pair{"pre_tokenizer", R"({"type": "Metaspace", "replacement": ""})"},
        std::pair{"decoder", R"({"type": "Strip", "content": " ", "start": -1})"},
        std::pair{"post_processor", R"({"type": "TemplateProcessing", "single": []})"},
        std::pair{"post_processor", R"({"type": "TemplateProcessing", "single": [
            {"Sequence": {"id": "A"}}, {"SpecialToken": {"id": "x"}}],
            "special_tokens": {"x": {"ids": [4]}}})"}}) {
    Parts damaged;
    damaged.top[key] = value;
    EXPECT_NE(damaged.error(ErrorCode::kFile), "no error") << key << ": " << value;
  }
}

TEST(TokenizerJson, NestedTooDeepIsRefused) {
  Parts parts;
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += R"({"type": "Sequence", "normalizers": [)";
  deep += R"({"type": "NFC"})";
  for (int i = 0; i < 100; ++i) deep += "]}";
  parts.top["normalizer"] = deep;
  expect_error(parts, ErrorCode::kFile, "nested deeper");
}

TEST(TokenizerJson, StepsAreCounted) {
  auto with_steps = [](size_t count) {
    Parts parts;
    std::string steps;
    for (size_t i = 0; i < count; ++i) steps += std::string(i > 0 ? "," : "") + R"({"type":"NFC"})";
    parts.top["normalizer"] = R"({"type": "Sequence", "normalizers": [)" + steps + "]}";
    return parts;
  };
  EXPECT_NO_THROW(with_steps(64).read());
  EXPECT_THROW(with_steps(65).read(), Error);
}

}  // namespace
}  // namespace hearth
