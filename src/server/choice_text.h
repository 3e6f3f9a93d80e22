// From the engine's results of one choice to what a client gets of it: text, and the
// log-probabilities of exactly those tokens whose text was given.
//
// Text is held back while a character or a stop string may be incomplete, so a token's text may
// come with a later result, or never, where a stop string cut it off. A token's entry comes with
// the first byte of its text; tokens that make up one character come together with it. A token
// without text (an end of text, a control token) has no entry.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/utf8_stream.h"
#include "engine/request.h"
#include "tokenizer/tokenizer.h"

namespace hearth {

struct TokenEntry {
  std::string bytes;  // of the token, maybe a part of a character
  double logprob = 0;
  std::vector<std::pair<std::string, double>> top;  // bytes and log-probability
  uint64_t offset = 0;  // code points of the choice's text before the token's
};

// A piece of a choice, or all of it.
struct ChoicePart {
  uint32_t index = 0;
  std::string text = {};
  std::vector<TokenEntry> entries = {};
  std::optional<Finish> finish = {};

  // Whether a client needs to hear of it.
  bool empty() const { return text.empty() && entries.empty() && !finish; }
  void append(ChoicePart next);
};

class ChoiceText {
 public:
  // `index` is the choice's number in the reply, whatever its results say. `special`: control
  // tokens have text (Request::special_text). The tokenizer must outlive this.
  ChoiceText(const Tokenizer& tokenizer, uint32_t index, bool logprobs, bool special = false)
      : tokenizer_(&tokenizer), index_(index), logprobs_(logprobs), special_(special) {}

  // Takes the choice's next result and returns what became certain with it.
  ChoicePart take(const Result& result);

  // Tokens generated, those without text included.
  uint32_t tokens() const { return tokens_; }
  std::optional<Finish> finish() const { return finish_; }

 private:
  struct Waiting {
    size_t begin;  // of its text, in bytes of the choice's
    TokenEntry entry;
  };

  void add(const Result& result);
  void push(char byte, Waiting* first);

  const Tokenizer* tokenizer_;
  uint32_t index_;
  bool logprobs_, special_;
  uint32_t tokens_ = 0;
  std::optional<Finish> finish_;
  // The text of the tokens so far, as the engine makes it before it looks for stop strings: bytes
  // and code points that are certain.
  Utf8Stream utf8_;
  size_t bytes_ = 0;
  uint64_t points_ = 0;
  size_t given_ = 0;  // bytes of text given
  std::deque<Waiting> waiting_;
};

// Returns the number of code points of well-formed text.
uint64_t count_code_points(std::string_view text);

}  // namespace hearth
