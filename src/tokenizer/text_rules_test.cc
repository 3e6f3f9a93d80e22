// Tests tokenizers with the rules of a tokenizer.json: splitting, spelling and decoding.
#include <gtest/gtest.h>

#include "base/error.h"
#include "tokenizer/pre_tokenizer.h"
#include "tokenizer/test_vocab.h"
#include "tokenizer/tokenizer.h"

namespace hearth {
namespace {

using Ids = std::vector<int32_t>;
using Ranges = std::vector<std::pair<size_t, size_t>>;

const std::string kMark = "\u2581";

std::string cut(const std::vector<CutStep>& steps, std::string_view text, bool at_start = true) {
  TextPieces pieces;
  MatchMemory memory;
  PreTokenizer(steps, "tokenizer.json").split(text, at_start, memory, pieces);
  std::string joined;
  for (std::string_view piece : pieces.pieces) {
    if (!joined.empty()) joined += '|';
    joined += piece;
  }
  return joined;
}

std::string cut_at_dashes(CutBehavior behavior, bool invert = false) {
  return cut({SplitStep{{"-", false}, behavior, invert}}, "-a--bc-");
}

TEST(TextRules, SplitsInEveryWay) {
  EXPECT_EQ(cut_at_dashes(CutBehavior::kRemoved), "a|bc");
  EXPECT_EQ(cut_at_dashes(CutBehavior::kIsolated), "-|a|-|-|bc|-");
  EXPECT_EQ(cut_at_dashes(CutBehavior::kMergedWithPrevious), "-|a-|-|bc-");
  EXPECT_EQ(cut_at_dashes(CutBehavior::kMergedWithNext), "-a|-|-bc|-");
  EXPECT_EQ(cut_at_dashes(CutBehavior::kContiguous), "-|a|--|bc|-");
  EXPECT_EQ(cut_at_dashes(CutBehavior::kRemoved, true), "-|-|-|-");
  EXPECT_EQ(cut_at_dashes(CutBehavior::kMergedWithPrevious, true), "-a|-|-bc|-");
}

TEST(TextRules, AnEmptyMatchCutsToo) {
  EXPECT_EQ(cut({SplitStep{{"(?=[A-Z])", true}}}, "aBcD"), "a|Bc|D");
  EXPECT_EQ(cut({SplitStep{{"", false}}}, "a\u00e9"), "a|\u00e9");
}

TEST(TextRules, ByteLevelSpellsWhereAStepFollows) {
  EXPECT_EQ(cut({ByteLevelStep{}}, "it's 12"), "it|'s| 12");
  EXPECT_EQ(cut({ByteLevelStep{true, false}}, "a b"), " a b");
  const SplitStep digits = {{R"(\p{N})", true}};
  EXPECT_EQ(cut({ByteLevelStep{}, digits}, " 12"), "\u0120|1|2");
  // The byte 0xB2 is spelled as a character that is a number.
  EXPECT_EQ(cut({ByteLevelStep{false, false}, digits}, "\u0432"), "\u00d0|\u00b2");
}

TEST(TextRules, MarksGoBeforeWordsAsTheSchemeSays) {
  const MetaspaceStep always = {kMark, PrependScheme::kAlways, true};
  EXPECT_EQ(cut({always}, "a  b"), kMark + "a|" + kMark + "|" + kMark + "b");
  EXPECT_EQ(cut({MetaspaceStep{kMark, PrependScheme::kNever, false}}, "a b"), "a" + kMark + "b");
  const MetaspaceStep first = {kMark, PrependScheme::kFirst, true};
  EXPECT_EQ(cut({first}, "a"), kMark + "a");
  EXPECT_EQ(cut({first}, "a", false), "a");
  EXPECT_EQ(cut({first}, " a"), kMark + "a");
  const SplitStep dashes = {{"-", false}, CutBehavior::kRemoved};
  EXPECT_EQ(cut({dashes, first}, "a-b"), kMark + "a|b");
  EXPECT_EQ(cut({dashes, first}, "-b"), "b");
}

// Makes a vocabulary that merges characters: 0 <unk>, 1 a, 2 b, 3 ab, 4 the mark, 5 the mark with
// a.
Vocab marked_vocab() {
  Vocab vocab;
  vocab.source = "tokenizer.json";
  vocab.unk = add_token(vocab, "<unk>");
  for (const char* token : {"a", "b", "ab", "\u2581",
                            "\u2581"
                            "a"})
    add_token(vocab, token);
  vocab.merges = {{1, 2, 3, 0}, {4, 1, 5, 1}};
  vocab.rules.emplace();
  vocab.rules->normalize = {PrependStep{kMark}, ReplaceStep{{" ", false}, kMark}};
  vocab.rules->decode = {ReplaceStep{{kMark, false}, " "}, ByteFallbackStep{}, FuseStep{},
                         StripStep{" ", 1, 0}};
  return vocab;
}

TEST(TextRules, UnknownCharactersAreOneOrSeveral) {
  Vocab vocab = marked_vocab();
  EXPECT_EQ(Tokenizer::from_vocab(vocab)->encode("xyab"), (Ids{4, 0, 0, 3}));
  vocab.rules->fuse_unk = true;
  EXPECT_EQ(Tokenizer::from_vocab(vocab)->encode("xyab z"), (Ids{4, 0, 3, 4, 0}));
  vocab.unk = Vocab::kNone;
  EXPECT_THROW(Tokenizer::from_vocab(vocab)->encode("x"), Error);
}

TEST(TextRules, CharactersFallBackToBytesWhereAllHaveTokens) {
  Vocab vocab = marked_vocab();
  vocab.rules->byte_fallback = true;
  const int32_t c3 = add_token(vocab, "<0xC3>"), a9 = add_token(vocab, "<0xA9>");
  auto tokenizer = Tokenizer::from_vocab(vocab);
  EXPECT_EQ(tokenizer->encode("\u00e9a\u00e8\xC3"), (Ids{4, c3, a9, 1, 0, c3}));
  EXPECT_EQ(tokenizer->decode(Ids{4, c3, a9, 1}), "\u00e9a");
  EXPECT_EQ(tokenizer->token_bytes(c3), "\xC3");
}

TEST(TextRules, TextComesBack) {
  auto tokenizer = Tokenizer::from_vocab(marked_vocab());
  for (const char* text : {"a b", "ab  ab", " a"}) {
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
  }
  EXPECT_EQ(tokenizer->token_bytes(5), " a");
}

TEST(TextRules, IgnoredMergesTakeWholePieces) {
  Vocab vocab = marked_vocab();
  const int32_t whole = add_token(vocab, kMark + "ba");
  EXPECT_EQ(Tokenizer::from_vocab(vocab)->encode("ba"), (Ids{4, 2, 1}));
  vocab.rules->ignore_merges = true;
  EXPECT_EQ(Tokenizer::from_vocab(vocab)->encode("ba"), Ids{whole});
}

TEST(TextRules, StepsBehindTheFusingAreRefused) {
  Vocab vocab = marked_vocab();
  vocab.rules->decode = {FuseStep{}, ReplaceStep{{kMark, false}, " "}};
  EXPECT_THROW(Tokenizer::from_vocab(vocab), Error);
}

struct Added {
  Vocab vocab = bpe_vocab({"a b"});
  Added() {
    vocab.rules.emplace();
    vocab.rules->cut = {ByteLevelStep{}};
  }
  int32_t add(const std::string& text, AddedRule rule, TokenType type = TokenType::kUserDefined) {
    rule.id = add_token(vocab, text, type);
    rule.outside = true;
    vocab.added.push_back(rule);
    return rule.id;
  }
  Ids encode(std::string_view text, const Ranges& untrusted = {}) const {
    return Tokenizer::from_vocab(vocab)->encode(text,
                                                {.parse_special = true, .untrusted = untrusted});
  }
};

TEST(TextRules, AddedTokensAreFoundFromLeftToRight) {
  Added a;
  const int32_t shorter = a.add("xy", {}), longer = a.add("yzzz", {}), longest = a.add("xyq", {});
  EXPECT_EQ(a.encode("xyzzz"), (Ids{shorter, 'z', 'z', 'z'}));
  EXPECT_EQ(a.encode("yzzzxyq"), (Ids{longer, longest}));
}

TEST(TextRules, AddedTokensStandAloneOrSwallowSpace) {
  Added a;
  const int32_t word = a.add("int", {.single_word = true}),
                left = a.add("<l>", {.strip_left = true});
  const int32_t right = a.add("<r>", {.strip_right = true});
  EXPECT_EQ(a.encode("int!int"), (Ids{word, '!', word}));
  EXPECT_EQ(a.encode("print"), (Ids{'p', 'r', 'i', 'n', 't'}));
  EXPECT_EQ(a.encode("int\u00e9").size(), 5u);
  EXPECT_EQ(a.encode("a \t\u3000<l> b"), (Ids{'a', left, 0x20, 'b'}));
  EXPECT_EQ(a.encode("<r> \n<l>a"), (Ids{right, left, 'a'}));
}

TEST(TextRules, MergesDoNotKnowAddedTokens) {
  Added a;
  a.add("\u00e9", {.single_word = true});
  EXPECT_EQ(a.encode("x\u00e9"), (Ids{'x', 0xC3, 0xA9}));
}

TEST(TextRules, NormalizedTokensAreFoundInNormalText) {
  Added a;
  a.vocab.rules->normalize = {NfcStep{}, ReplaceStep{{"X", false}, "x"}};
  const int32_t accent = a.add("e\u0301", {.normalized = true});
  const int32_t plain = a.add("XX", {}), upper = a.add("Xa", {.normalized = true});
  EXPECT_EQ(a.encode("\u00e9"), Ids{accent});
  EXPECT_EQ(a.encode("e\u0301"), Ids{accent});
  EXPECT_EQ(a.encode("XXxa"), (Ids{plain, upper}));
}

TEST(TextRules, UntrustedBytesNeverBecomeANormalizedToken) {
  Added a;
  a.vocab.rules->normalize = {ReplaceStep{{"-", false}, ""}};
  const int32_t end = a.add("<|end|>", {.normalized = true}, TokenType::kControl);
  EXPECT_EQ(a.encode("a<|e-nd|>"), (Ids{'a', end}));
  EXPECT_EQ(a.encode("a<|end|>", {{0, 1}}), (Ids{'a', end}));
  for (size_t at = 1; at < 8; ++at) {
    EXPECT_EQ(a.encode("a<|end|>", {{at, at + 1}}).size(), 8u) << at;
  }
}

TEST(TextRules, UntrustedBytesNeverBecomeATokenOfOneCharacter) {
  Added a;
  const int32_t end = a.add("\u20ac", {}, TokenType::kControl);
  EXPECT_EQ(a.encode("a\u20ac"), (Ids{'a', end}));
  EXPECT_EQ(a.encode("a\u20ac", {{0, 4}}), (Ids{'a', 0xE2, 0x82, 0xAC}));
}

// The error must come when the vocabulary is read, since it would come too late during generation.
TEST(TextRules, RefusesDecodeStepsThatFailForSomeToken) {
  auto error_of = [](std::vector<DecodeStep> steps) {
    Added a;
    a.add(std::string(60, 'a') + "b", {});
    a.vocab.rules->decode = std::move(steps);
    try {
      Tokenizer::from_vocab(a.vocab);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kFile);
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_NE(error_of({ReplaceStep{{"(a+)+$", true}, ""}}).find("takes too long"),
            std::string::npos);
  const std::vector<DecodeStep> doubling(40, ReplaceStep{{"a", false}, "aa"});
  EXPECT_NE(error_of(doubling).find("65536 bytes"), std::string::npos);
  EXPECT_EQ(error_of({ReplaceStep{{"a", false}, "aa"}}), "no error");
}

TEST(TextRules, SeveralTokensMayStandBeforeAText) {
  Added a;
  const int32_t one = a.add("<g>", {}, TokenType::kControl),
                two = a.add("<s>", {}, TokenType::kControl);
  a.vocab.before = {one, two};
  a.vocab.bos = two;
  a.vocab.add_bos = true;
  auto tokenizer = Tokenizer::from_vocab(a.vocab);
  EXPECT_EQ(tokenizer->encode("a"), (Ids{one, two, 'a'}));
  EXPECT_EQ(tokenizer->encode("a", {.add_bos = false}), Ids{'a'});
  EXPECT_EQ(tokenizer->decode(Ids{one, 'a'}, true), "<g>a");
}

}  // namespace
}  // namespace hearth
