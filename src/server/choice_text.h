// Turns the engine's results of one choice into the parts that a client gets: text, and the
// log-probabilities of exactly those tokens whose text was given.
//
// Text is held back while a character or a stop string may be incomplete. So a token's text may
// come with a later result, or never, where a stop string cut it off. A token's entry comes with
// the first byte of its text; the tokens of one character come together with it. A token without
// text (an end of text, a control token) has no entry, unless the prompt is echoed.
//
// With an echoed prompt (EchoedPrompt), the text begins with the prompt's, as its tokens spell it.
// Every token that is not cut off then has an entry; one without text is shown by its name. So a
// client that knows the prompt's tokens can match each to its entry.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
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
  std::string bytes;  // the token's text; may be a part of a character
  double logprob = 0;
  // The bytes and log-probabilities of the likeliest tokens.
  std::vector<std::pair<std::string, double>> top = {};
  uint64_t offset = 0;  // code points of the choice's text before this token's
  bool scored = true;   // false: a prompt's first token, which has no log-probability
};

// EchoedPrompt: a prompt that is repeated before the generated text, with its tokens'
// log-probabilities.
struct EchoedPrompt {
  EchoedPrompt(const Tokenizer& tokenizer, std::vector<int32_t> tokens);

  std::vector<int32_t> tokens;
  // Whether the first byte of the spelled tokens is the space that SentencePiece adds in front of a
  // text, so the echo leaves it out.
  bool drops_space = false;
};

// A part of a tool call. A call's first part has its id and name, the others only arguments.
struct CallPart {
  uint32_t index = 0;  // the call's number in its choice
  std::string id = {};
  std::string name = {};
  std::string arguments = {};  // a part of the JSON text of an object
};

// A part of a choice's output.
struct ChoicePart {
  uint32_t index = 0;
  std::string text = {};
  std::vector<TokenEntry> entries = {};
  std::optional<Finish> finish = {};
  std::string reasoning = {};
  std::vector<CallPart> calls = {};
  bool called = false;    // with `finish`: the choice called tools
  std::string stop = {};  // with `finish`: the stop string that ended it

  // Whether the part has nothing to send.
  bool empty() const {
    return text.empty() && entries.empty() && !finish && reasoning.empty() && calls.empty();
  }
  void append(ChoicePart next);
};

// Returns the bytes of memory that a part takes until its reply is written.
uint64_t bytes_of(const ChoicePart& part);

// ChoiceReader turns the results of one choice into parts.
class ChoiceReader {
 public:
  virtual ~ChoiceReader() = default;
  // Takes the choice's next result and returns the part that became certain with it.
  virtual ChoicePart take(const Result& result) = 0;

  // Returns the number of tokens generated, including those without text.
  virtual uint32_t tokens() const = 0;
  virtual uint64_t reasoning_tokens() const { return 0; }
  virtual std::optional<Finish> finish() const = 0;
};

// Returns the entry of a result's token: its bytes, empty where it has no text, and its
// log-probabilities. `special`: control tokens have text.
TokenEntry token_entry(const Tokenizer& tokenizer, const Result& result, bool special);

// ChoiceText: a choice whose output is all content, without reasoning or calls.
class ChoiceText final : public ChoiceReader {
 public:
  // `index`: the choice's number in the reply, whichever number its results have. `special`:
  // control tokens have text (Request::special_text). `prompt`: the echoed prompt of a request with
  // prompt_logprobs, else null. The tokenizer must outlive this.
  ChoiceText(const Tokenizer& tokenizer, uint32_t index, bool logprobs, bool special = false,
             std::shared_ptr<const EchoedPrompt> prompt = nullptr)
      : tokenizer_(&tokenizer),
        index_(index),
        logprobs_(logprobs),
        special_(special),
        prompt_(std::move(prompt)),
        drops_space_(prompt_ && prompt_->drops_space) {}

  ChoicePart take(const Result& result) override;
  uint32_t tokens() const override { return tokens_; }
  std::optional<Finish> finish() const override { return finish_; }

 private:
  struct Waiting {
    size_t begin;  // where the token's text begins in the choice's, in bytes
    bool silent;   // the token has no text
    TokenEntry entry;
  };

  void add(const Result& result);
  std::string add_prompt(const Result& result);
  std::string add_entry(TokenEntry entry, std::string_view bytes);
  std::string push(char byte, Waiting* first);

  const Tokenizer* tokenizer_;
  uint32_t index_;
  bool logprobs_, special_;
  std::shared_ptr<const EchoedPrompt> prompt_;
  bool drops_space_;   // the echoed prompt's next byte is a space to drop
  size_t echoed_ = 0;  // prompt tokens whose entries were added
  uint32_t tokens_ = 0;
  std::optional<Finish> finish_;
  // The tokens' text before stop strings are cut, and how many bytes and code points of that text
  // are certain.
  Utf8Stream utf8_;
  size_t bytes_ = 0;
  uint64_t points_ = 0;
  size_t given_ = 0;  // bytes of text in all parts returned so far
  std::deque<Waiting> waiting_;
};

// Returns the number of code points of well-formed text.
uint64_t count_code_points(std::string_view text);

}  // namespace hearth
