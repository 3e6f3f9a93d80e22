#include "server/choice_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>

#include "base/utf8.h"
#include "tokenizer/test_vocab.h"
#include "tokenizer/text_stream.h"

namespace hearth {
namespace {

// Returns a tokenizer whose tokens 0 to 255 are the bytes; 256 ends a text, 257 is a control token,
// and `texts` follow.
std::unique_ptr<Tokenizer> tokenizer_of(const std::vector<std::string>& texts) {
  Vocab vocab = bpe_vocab({});
  vocab.eos = add_token(vocab, "<end>", TokenType::kControl);
  vocab.eog = {vocab.eos};
  add_token(vocab, "<mark>", TokenType::kControl);
  for (const std::string& text : texts) {
    std::string spelled;
    for (char byte : text) spelled += byte_level_character(static_cast<uint8_t>(byte));
    add_token(vocab, spelled);
  }
  return Tokenizer::from_vocab(std::move(vocab));
}
constexpr int32_t kEnd = 256, kMark = 257, kFirst = 258;

// Makes the results that Generation would make of these tokens; the last one has the finish.
std::vector<Result> results_of(const Tokenizer& tokenizer, const std::vector<int32_t>& tokens,
                               const std::vector<std::string>& stops) {
  TextStream stream(stops);
  std::vector<Result> results;
  for (int32_t token : tokens) {
    Result& result = results.emplace_back();
    result.index = static_cast<uint32_t>(results.size()) - 1;
    result.token = token;
    result.logprob = -static_cast<double>(results.size());
    if (tokenizer.is_eog(token)) {
      result.finish = Finish::kEndOfText;
    } else {
      result.text = stream.push(tokenizer.token_bytes(token));
      if (stream.stopped()) result.finish = Finish::kStopString;
    }
    if (results.size() == tokens.size() && !result.finish) result.finish = Finish::kLength;
    if (!result.finish) continue;
    result.text += stream.end();
    break;
  }
  return results;
}

// Returns each part that ChoiceText gives, as "text|entry,entry".
std::vector<std::string> parts_of(const Tokenizer& tokenizer, const std::vector<int32_t>& tokens,
                                  const std::vector<std::string>& stops = {}) {
  ChoiceText choice(tokenizer, 0, true);
  std::vector<std::string> parts;
  for (const Result& result : results_of(tokenizer, tokens, stops)) {
    ChoicePart part = choice.take(result);
    std::string& shown = parts.emplace_back(part.text + "|");
    for (const TokenEntry& entry : part.entries) {
      shown += (shown.back() == '|' ? "" : ",") + entry.bytes;
    }
  }
  return parts;
}

using Parts = std::vector<std::string>;

TEST(ChoiceText, EveryTokenComesWithItsText) {
  auto tokenizer = tokenizer_of({"He", "llo"});
  EXPECT_EQ(parts_of(*tokenizer, {kFirst, kFirst + 1, '!'}), (Parts{"He|He", "llo|llo", "!|!"}));
}

TEST(ChoiceText, EndsAndControlTokensHaveNoEntry) {
  auto tokenizer = tokenizer_of({});
  EXPECT_EQ(parts_of(*tokenizer, {'a', kMark, 'b', kEnd}), (Parts{"a|a", "|", "b|b", "|"}));
}

TEST(ChoiceText, TokensOfOneCharacterComeTogetherWithIt) {
  auto tokenizer = tokenizer_of({"x\xE2", "\x82", "\xAC!"});
  EXPECT_EQ(parts_of(*tokenizer, {kFirst, kFirst + 1, kFirst + 2}),
            (Parts{"x|x\xE2", "|", "\xE2\x82\xAC!|\x82,\xAC!"}));
  // A character that never becomes complete is U+FFFD.
  EXPECT_EQ(parts_of(*tokenizer, {0xE2, 0x82, kEnd}), (Parts{"|", "|", "\xEF\xBF\xBD|\xE2,\x82"}));
  EXPECT_EQ(parts_of(*tokenizer, {0xE2, 'a'}), (Parts{"|",
                                                      "\xEF\xBF\xBD"
                                                      "a|\xE2,a"}));
}

TEST(ChoiceText, TextHeldForAStopStringHoldsItsEntries) {
  auto tokenizer = tokenizer_of({"o##"});
  // "##" might begin the stop string "###", but "!" shows that it does not. The token "o##" came
  // with its first character.
  EXPECT_EQ(parts_of(*tokenizer, {'f', kFirst, '!'}, {"###"}), (Parts{"f|f", "o|o##", "##!|!"}));
  EXPECT_EQ(parts_of(*tokenizer, {'#', '#', 'x'}, {"###"}), (Parts{"|", "|", "##x|#,#,x"}));
  EXPECT_EQ(parts_of(*tokenizer, {'#', '#', kEnd}, {"###"}), (Parts{"|", "|", "##|#,#"}));
}

TEST(ChoiceText, TokensThatAStopStringCutOffHaveNoEntry) {
  auto tokenizer = tokenizer_of({"o##", "##b"});
  EXPECT_EQ(parts_of(*tokenizer, {'a', '#', '#', '#'}, {"###"}), (Parts{"a|a", "|", "|", "|"}));
  EXPECT_EQ(parts_of(*tokenizer, {'a', kFirst, kFirst + 1}, {"###"}), (Parts{"a|a", "o|o##", "|"}));
}

TEST(ChoiceText, CountsTokensAndKeepsTheFinishAndTheIndex) {
  auto tokenizer = tokenizer_of({});
  ChoiceText choice(*tokenizer, 7, false);
  ChoicePart whole;
  for (const Result& result : results_of(*tokenizer, {'a', kMark, 'b', kEnd}, {})) {
    ChoicePart part = choice.take(result);
    EXPECT_EQ(part.index, 7u);
    EXPECT_TRUE(part.entries.empty()) << "nobody asked";
    EXPECT_EQ(part.empty(), result.token == kMark);
    whole.append(std::move(part));
  }
  EXPECT_EQ(choice.tokens(), 4u);
  EXPECT_EQ(whole.text, "ab");
  EXPECT_EQ(whole.finish, Finish::kEndOfText);
  EXPECT_EQ(choice.finish(), Finish::kEndOfText);
}

TEST(ChoiceText, AnEndWithoutATokenGivesWhatWasHeld) {
  auto tokenizer = tokenizer_of({});
  ChoiceText choice(*tokenizer, 0, true);
  Result half;
  half.token = 0xE2;
  EXPECT_TRUE(choice.take(half).empty());
  Result end;
  end.text = kReplacementCharacter;
  end.finish = Finish::kCancelled;
  ChoicePart part = choice.take(end);
  ASSERT_EQ(part.entries.size(), 1u);
  EXPECT_EQ(part.entries[0].bytes, "\xE2");
  EXPECT_EQ(choice.tokens(), 1u);
}

TEST(ChoiceText, NamesTheLikeliestTokensByTheirBytes) {
  auto tokenizer = tokenizer_of({"yes"});
  ChoiceText choice(*tokenizer, 0, true);
  Result result;
  result.token = 'n';
  result.text = "n";
  result.logprob = -2;
  result.top_logprobs = {{kFirst, -0.5}, {0xE2, -1.5}};
  ChoicePart part = choice.take(result);
  ASSERT_EQ(part.entries.size(), 1u);
  EXPECT_EQ(part.entries[0].logprob, -2);
  EXPECT_EQ(part.entries[0].top,
            (std::vector<std::pair<std::string, double>>{{"yes", -0.5}, {"\xE2", -1.5}}));
}

TEST(ChoiceText, OffsetsAreCodePoints) {
  auto tokenizer = tokenizer_of({"\xC3\xA9z", "\xE2\x82"});
  ChoiceText choice(*tokenizer, 0, true);
  std::vector<uint64_t> offsets;
  for (const Result& result : results_of(*tokenizer, {kFirst, kFirst + 1, 0xAC, 'x'}, {})) {
    for (const TokenEntry& entry : choice.take(result).entries) offsets.push_back(entry.offset);
  }
  EXPECT_EQ(offsets, (std::vector<uint64_t>{0, 2, 2, 3}));
}

TEST(ChoiceText, ATokenThatEndsTheTextHasAnEntryWhereItsTextIsGiven) {
  auto tokenizer = tokenizer_of({"yes"});
  for (const char* text : {"yes", "", "\xEF\xBF\xBD"}) {
    ChoiceText choice(*tokenizer, 0, true);
    Result result;
    result.token = kFirst;
    result.text = text;
    result.finish = Finish::kEndOfText;
    EXPECT_EQ(choice.take(result).entries.size(), text == std::string("yes") ? 1u : 0u) << text;
  }
}

// Returns results that score a prompt's tokens, `step` tokens each; token n has log-probability -n.
std::vector<Result> prompt_results(size_t tokens, size_t step) {
  std::vector<Result> results;
  for (size_t at = 1; at < tokens; at += step) {
    Result& result = results.emplace_back();
    result.index = static_cast<uint32_t>(at);
    for (size_t i = at; i < std::min(tokens, at + step); ++i) {
      result.prompt_logprobs.push_back({-static_cast<double>(i), {{kEnd, -0.5}}});
    }
  }
  return results;
}

// Returns each part as "text|entry@offset=logprob,..."; "-": no log-probability.
Parts echoed(const Tokenizer& tokenizer, const std::vector<int32_t>& prompt, size_t step,
             const std::vector<int32_t>& tokens, const std::vector<std::string>& stops = {}) {
  ChoiceText choice(tokenizer, 0, true, false, std::make_shared<EchoedPrompt>(tokenizer, prompt));
  std::vector<Result> results = prompt_results(prompt.size(), step);
  for (Result& result : results_of(tokenizer, tokens, stops)) results.push_back(std::move(result));
  Parts parts;
  for (const Result& result : results) {
    const ChoicePart part = choice.take(result);
    std::string& shown = parts.emplace_back(part.text + "|");
    for (const TokenEntry& entry : part.entries) {
      const std::string logprob =
          entry.scored ? std::to_string(static_cast<int>(entry.logprob)) : "-";
      shown += (shown.back() == '|' ? "" : ",") + entry.bytes + "@" + std::to_string(entry.offset) +
               "=" + logprob;
    }
  }
  return parts;
}

TEST(ChoiceText, APromptComesBeforeItsTextTokenByToken) {
  auto tokenizer = tokenizer_of({"He", "llo"});
  EXPECT_EQ(echoed(*tokenizer, {kFirst, kFirst + 1, '!', '?'}, 2, {'a', 'b'}),
            (Parts{"Hello!|He@0=-,llo@2=-1,!@5=-2", "?|?@6=-3", "a|a@7=-1", "b|b@8=-2"}));
  EXPECT_EQ(echoed(*tokenizer, {kFirst}, 2, {'a', 'b'}), (Parts{"Hea|He@0=-,a@2=-1", "b|b@3=-2"}));
}

TEST(ChoiceText, EveryTokenBehindAPromptHasAnEntry) {
  auto tokenizer = tokenizer_of({"He"});
  EXPECT_EQ(echoed(*tokenizer, {kMark, kFirst, kEnd}, 9, {'a', kMark, 'b', kEnd}),
            (Parts{"He|<mark>@0=-,He@0=-1,<end>@2=-2", "a|a@2=-1", "|<mark>@3=-2", "b|b@3=-3",
                   "|<end>@4=-4"}));
  EXPECT_EQ(echoed(*tokenizer, {'x'}, 9, {kEnd}), (Parts{"x|x@0=-,<end>@1=-1"}));
  // The stop string "bc" cuts off the entries of its tokens.
  EXPECT_EQ(echoed(*tokenizer, {'x'}, 9, {'a', 'b', 'c'}, {"bc"}),
            (Parts{"xa|x@0=-,a@1=-1", "|", "|"}));
}

TEST(ChoiceText, CharactersOfAPromptAndOfItsTextAreTheirOwn) {
  auto tokenizer = tokenizer_of({"\xC3\xA9"});
  EXPECT_EQ(echoed(*tokenizer, {kFirst, 0xC3, 0xA9, 0xC3}, 1, {0xA9, 'b'}),
            (Parts{"\xC3\xA9|\xC3\xA9@0=-", "\xC3\xA9|\xC3@1=-1,\xA9@1=-2",
                   "\xEF\xBF\xBD|\xC3@2=-3", "\xEF\xBF\xBD|\xA9@3=-1", "b|b@4=-2"}));
}

TEST(ChoiceText, TheSpaceBeforeAPromptIsNotShown) {
  auto tokenizer = Tokenizer::from_vocab(spm_vocab({{"_Hi", 0}, {"_", 0}}));
  const int32_t bos = 1, hi = 259, space = 260;
  EXPECT_EQ(echoed(*tokenizer, {bos, hi, hi}, 1, {}),
            (Parts{"Hi|<s>@0=-, Hi@0=-1", " Hi| Hi@2=-2"}));
  EXPECT_EQ(echoed(*tokenizer, {space, hi}, 1, {}), (Parts{" Hi| @0=-, Hi@0=-1"}));
}

// Returns, for each byte, the position of its character's first byte.
std::vector<size_t> begins_of(std::string_view bytes) {
  std::vector<size_t> begins;
  size_t at = 0;
  while (!bytes.empty()) {
    size_t length = utf8_sequence(bytes);
    size_t text = length;
    if (length == 0) {
      length = std::max<size_t>(utf8_partial(bytes), 1);
      text = kReplacementCharacter.size();
    }
    begins.insert(begins.end(), length, at);
    at += text;
    bytes.remove_prefix(length);
  }
  return begins;
}

TEST(ChoiceText, EntriesAlwaysMatchTheTextGiven) {
  std::mt19937 random(5);
  const std::string alphabet = "ab\x80\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\xFF\xE0\xED\xEF\xBF\xBD";
  std::vector<std::string> texts;
  for (int i = 0; i < 60; ++i) {
    std::string& text = texts.emplace_back();
    for (uint32_t n = 1 + random() % 4; n > 0; --n) text += alphabet[random() % alphabet.size()];
  }
  auto tokenizer = tokenizer_of(texts);
  for (int round = 0; round < 3000; ++round) {
    std::vector<int32_t> tokens(1 + random() % 12);
    for (int32_t& token : tokens) {
      token = random() % 40 == 0 ? kMark : kFirst + static_cast<int32_t>(random() % texts.size());
    }
    if (random() % 3 == 0) tokens.push_back(kEnd);
    std::string bytes;
    std::vector<size_t> firsts;
    for (int32_t token : tokens) {
      std::string own = token < kFirst ? "" : tokenizer->token_bytes(token);
      if (!own.empty()) firsts.push_back(bytes.size());
      bytes += own;
    }
    std::vector<size_t> begins = begins_of(bytes);
    ChoiceText choice(*tokenizer, 0, true);
    std::string text;
    size_t entries = 0;
    for (const Result& result : results_of(*tokenizer, tokens, {"ab", "a\xC3\xA9", "bbb"})) {
      ChoicePart part = choice.take(result);
      text += part.text;
      for (const TokenEntry& entry : part.entries) {
        ASSERT_EQ(bytes.compare(firsts[entries], entry.bytes.size(), entry.bytes), 0);
        size_t begin = begins[firsts[entries]];
        ASSERT_LT(begin, text.size());
        ASSERT_EQ(entry.offset, count_code_points(text.substr(0, begin)));
        ++entries;
      }
      if (entries < firsts.size()) {
        ASSERT_GE(begins[firsts[entries]], text.size());
      }
    }
  }
}

}  // namespace
}  // namespace hearth
