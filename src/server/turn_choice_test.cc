#include "server/turn_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <set>

#include "server/languages.h"
#include "server/turn_history.h"
#include "tokenizer/stop_strings.h"
#include "tokenizer/test_vocab.h"

namespace hearth {
namespace {

// Tokens 0 to 255 are the bytes, 256 ends a text, then come control tokens and words.
constexpr int32_t kTurnEnd = 256, kThinkMark = 257, kThoughtMark = 258, kCallMark = 259,
                  kCalledMark = 260, kFirstWord = 261;

std::unique_ptr<Tokenizer> marked_tokenizer(const std::vector<std::string>& words) {
  Vocab vocab = bpe_vocab({});
  vocab.eos = add_token(vocab, "<end>", TokenType::kControl);
  vocab.eog = {vocab.eos};
  for (const char* marker : {"<think>", "</think>", "<tool_call>", "</tool_call>"}) {
    add_token(vocab, marker, TokenType::kControl);
  }
  for (const std::string& text : words) {
    std::string spelled;
    for (char byte : text) spelled += byte_level_character(static_cast<uint8_t>(byte));
    add_token(vocab, spelled);
  }
  return Tokenizer::from_vocab(std::move(vocab));
}

// Turns in Hermes's format, with these control tokens as markers.
class TurnChoiceTest : public testing::Test {
 protected:
  void use_words(const std::vector<std::string>& words) { tokenizer_ = marked_tokenizer(words); }

  std::shared_ptr<const TurnLanguage> language(ToolChoice choice) {
    TurnOrder order;
    if (choice != ToolChoice::kNone) {
      order.tools.push_back({.name = "read",
                             .parameters = R"({"type":"object","properties":{"path":{"type":
                                 "string"}},"required":["path"],"additionalProperties":false})",
                             .where = "tools[0].function.parameters"});
    }
    order.choice = choice;
    TurnFormat format = find_known_format("hermes")->format;
    format.history = history_;
    return Languages().find_turn(format, order, *tokenizer_);
  }

  static std::vector<int32_t> bytes(std::string_view text) {
    std::vector<int32_t> tokens;
    for (char byte : text) tokens.push_back(static_cast<uint8_t>(byte));
    return tokens;
  }
  static std::vector<int32_t> joined(std::initializer_list<std::vector<int32_t>> parts) {
    std::vector<int32_t> tokens;
    for (const auto& part : parts) tokens.insert(tokens.end(), part.begin(), part.end());
    return tokens;
  }

  // Makes the results that Generation would make of these tokens.
  std::vector<Result> results_of(const std::vector<int32_t>& tokens,
                                 const TurnLanguage& language) const {
    Matcher matcher(*language.begin);
    StopMatcher stops(request_.stops);
    std::vector<Result> results;
    for (int32_t token : tokens) {
      Result& result = results.emplace_back();
      result.token = token;
      result.logprob = -static_cast<double>(results.size());
      const bool ends =
          tokenizer_->is_eog(token) || std::ranges::count(request_.stop_tokens, token) > 0;
      if (!ends) look_for_stop(matcher, token, language.stop_tags, stops);
      if (ends) {
        result.finish = Finish::kEndOfText;
      } else if (stops.stopped()) {
        result.finish = Finish::kStopString;
        result.stop = stops.matched();
      } else if (results.size() == tokens.size()) {
        result.finish = Finish::kLength;
      }
      if (result.finish) break;
    }
    return results;
  }
  void look_for_stop(Matcher& matcher, int32_t token, uint32_t tags, StopMatcher& stops) const {
    ASSERT_TRUE(matcher.accept(token));
    const std::string bytes = tokenizer_->token_bytes(token);
    for (size_t i = 0; i < bytes.size() && !matcher.was_control(); ++i) {
      if (matcher.tags()[i] & tags) stops.push({&bytes[i], 1});
    }
  }

  ChoicePart whole_of(const std::vector<int32_t>& tokens, ToolChoice choice = ToolChoice::kNone) {
    const std::shared_ptr<const TurnLanguage> turns = language(choice);
    TurnChoice turn(*tokenizer_, turns, 3, request_, reasoning_);
    ChoicePart whole{.index = 3};
    for (const Result& result : results_of(tokens, *turns)) {
      ChoicePart part = turn.take(result);
      EXPECT_EQ(part.index, 3u);
      shown_.push_back(part.text);
      whole.append(std::move(part));
    }
    tokens_ = turn.tokens();
    reasoning_tokens_ = turn.reasoning_tokens();
    return whole;
  }
  // Returns the whole output as "reasoning|content|entry,entry".
  std::string split(const std::vector<int32_t>& tokens, ToolChoice choice = ToolChoice::kNone) {
    const ChoicePart whole = whole_of(tokens, choice);
    std::string entries;
    for (const TokenEntry& entry : whole.entries) {
      entries += (entries.empty() ? "" : ",") + entry.bytes;
    }
    return whole.reasoning + "|" + whole.text + "|" + entries;
  }

  std::unique_ptr<Tokenizer> tokenizer_ = marked_tokenizer({});
  HistoryFormat history_;
  Request request_;
  bool reasoning_ = true;
  std::vector<std::string> shown_;
  uint32_t tokens_ = 0;
  uint64_t reasoning_tokens_ = 0;
};

const char* const kMarkup = "\n{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}\n";

TEST_F(TurnChoiceTest, SplitsReasoningFromContent) {
  const std::vector<int32_t> tokens =
      joined({{kThinkMark}, bytes("\nhm\n"), {kThoughtMark}, bytes("\n\nHi\xC3\xA9"), {kTurnEnd}});
  EXPECT_EQ(split(tokens), "hm|Hi\xC3\xA9|");
  EXPECT_EQ(tokens_, tokens.size());
  EXPECT_EQ(reasoning_tokens_, 4u);
  reasoning_ = false;
  EXPECT_EQ(split(tokens), "|Hi\xC3\xA9|");
  EXPECT_EQ(reasoning_tokens_, 4u);
  EXPECT_EQ(split(joined({bytes("plain <think>"), {kTurnEnd}})), "|plain <think>|");
}

TEST_F(TurnChoiceTest, EntriesAreOfTheContentsTokens) {
  use_words({"\n\n", "Yes", " no"});
  request_.logprobs = true;
  EXPECT_EQ(split({kThinkMark, kFirstWord + 1, kThoughtMark, kFirstWord, kFirstWord + 1,
                   kFirstWord + 2, kTurnEnd}),
            "Yes|Yes no|Yes, no");
  EXPECT_EQ(split({kFirstWord + 1, kFirstWord, kFirstWord + 2, kTurnEnd}),
            "|Yes\n\n no|Yes,\n\n, no");
  EXPECT_EQ(split({'\xE2' & 0xFF, 0x82, 0xAC, kFirstWord + 1}),
            "|\xE2\x82\xACYes|\xE2,\x82,\xAC,Yes");
  const std::string called =
      split(joined({{kFirstWord + 1}, {kCallMark}, bytes(kMarkup), {kCalledMark, kTurnEnd}}),
            ToolChoice::kAuto);
  EXPECT_EQ(called, "|Yes|Yes");
}

TEST_F(TurnChoiceTest, AStopStringEndsTheContent) {
  use_words({"He##", "##llo", "\n\nA## "});
  request_.logprobs = true;
  request_.stops = {"###"};
  EXPECT_EQ(split(joined({bytes("ab###cd")})), "|ab|a,b");
  for (const std::string& shown : shown_) EXPECT_EQ(shown.find('#'), std::string::npos);
  EXPECT_EQ(split({kFirstWord, kFirstWord + 1, kTurnEnd}), "|He|He##");
  EXPECT_EQ(split({kThinkMark, 'x', kThoughtMark, kFirstWord, kFirstWord + 1}), "x|He|He##");
  EXPECT_EQ(split({kThinkMark, 'x', kThoughtMark, kFirstWord + 2, ' ', kTurnEnd}).substr(0, 5),
            "x|A##");
  EXPECT_EQ(split({kThinkMark, kFirstWord, kFirstWord + 1, kThoughtMark, 'b', kTurnEnd}),
            "He####llo|b|b")
      << "it is none in the reasoning";
  request_.stops = {"\n\n"};
  EXPECT_EQ(split({kThinkMark, 'x', kThoughtMark, kFirstWord + 2, 'b', kTurnEnd}).substr(0, 7),
            "x|A## b")
      << "nor between reasoning and content";
  request_.stops = {"###"};
  const ChoicePart stopped = whole_of({kFirstWord, kFirstWord + 1});
  EXPECT_EQ(stopped.finish, Finish::kStopString);
  EXPECT_EQ(stopped.stop, "###");
  request_.include_stop = true;
  EXPECT_EQ(split({kFirstWord, kFirstWord + 1}).substr(0, 7), "|He###|");
  EXPECT_EQ(split(bytes("ab###")), "|ab###|a,b,#,#,#");
}

TEST_F(TurnChoiceTest, AStopTokenIsGivenWhereAskedFor) {
  request_.stop_tokens = {'.'};
  EXPECT_EQ(split(bytes("ab.")), "|ab|");
  request_.include_stop = true;
  EXPECT_EQ(split(bytes("ab.")), "|ab.|");
  EXPECT_EQ(split(joined({bytes("a"), {0xE2}, bytes(".")})), "|a\xEF\xBF\xBD.|");
}

TEST_F(TurnChoiceTest, GivesCallsByPieces) {
  const std::vector<int32_t> tokens = joined({bytes("I read."),
                                              {kCallMark},
                                              bytes(kMarkup),
                                              {kCalledMark},
                                              bytes("\n"),
                                              {kCallMark},
                                              bytes(kMarkup),
                                              {kCalledMark, kTurnEnd}});
  ChoicePart whole = whole_of(tokens, ToolChoice::kAuto);
  EXPECT_EQ(whole.text, "I read.");
  ASSERT_EQ(whole.calls.size(), 2u);
  std::set<std::string> ids;
  for (uint32_t i = 0; i < 2; ++i) {
    EXPECT_EQ(whole.calls[i].index, i);
    EXPECT_EQ(whole.calls[i].name, "read");
    EXPECT_EQ(whole.calls[i].arguments, "{\"path\": \"a\"}");
    EXPECT_EQ(whole.calls[i].id.substr(0, 5), "call_");
    EXPECT_TRUE(is_call_id(whole.calls[i].id.substr(5), 24)) << whole.calls[i].id;
    ids.insert(whole.calls[i].id);
  }
  EXPECT_EQ(ids.size(), 2u);
  EXPECT_TRUE(whole.called);
  EXPECT_EQ(whole.finish, Finish::kEndOfText);
  history_.id_length = 9;
  EXPECT_TRUE(is_call_id(whole_of(tokens, ToolChoice::kAuto).calls[0].id, 9));
}

TEST_F(TurnChoiceTest, ACallThatWasCutHasWhatThereIs) {
  auto cut = [&](const char* text) {
    return whole_of(joined({{kCallMark}, bytes(text)}), ToolChoice::kAuto);
  };
  ChoicePart part = cut("\n{\"name\": \"read\", \"arguments\": {\"pa");
  ASSERT_EQ(part.calls.size(), 1u);
  EXPECT_EQ(part.calls[0].arguments, "{\"pa");
  EXPECT_EQ(part.finish, Finish::kLength);
  EXPECT_TRUE(cut("\n{\"name\": \"re").calls.empty());
}

TEST_F(TurnChoiceTest, WithoutToolsMarkupIsContent) {
  EXPECT_TRUE(whole_of(joined({bytes("<tool_call>"), bytes(kMarkup), {kTurnEnd}})).calls.empty());
}

TEST(TurnChoice, NewIdsDiffer) {
  std::set<std::string> ids;
  for (int i = 0; i < 1000; ++i) ids.insert(new_call_id(0));
  EXPECT_EQ(ids.size(), 1000u);
  EXPECT_TRUE(is_call_id(new_call_id(9), 9));
}

}  // namespace
}  // namespace hearth
