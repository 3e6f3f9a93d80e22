// Turns the engine's results of one choice into what a client gets of it: text, and the
// log-probabilities of exactly those tokens whose text was given.
//
// Text is held back while a character or a stop string may be incomplete, so a token's text may
// come with a later result, or never, where a stop string cut it off. A token's entry comes with
// the first byte of its text; tokens that make up one character come together with it. A token
// without text (an end of text, a control token) has no entry, but where the prompt comes first.
//
// Where it does (EchoedPrompt), the text begins with the prompt's, as its tokens spell it, and
// every token that is not cut off has an entry, under its name where it has no text: so who knows
// the prompt's tokens knows which entry belongs to which.
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
  std::string bytes;  // of the token, maybe a part of a character
  double logprob = 0;
  std::vector<std::pair<std::string, double>> top = {};  // bytes and log-probability
  uint64_t offset = 0;  // code points of the choice's text before the token's
  bool scored = true;   // false: the first of a prompt, which has no log-probability
};

// A prompt that comes before the text, with the log-probabilities of its tokens.
struct EchoedPrompt {
  EchoedPrompt(const Tokenizer& tokenizer, std::vector<int32_t> tokens);

  std::vector<int32_t> tokens;
  // Whether the first byte that the tokens spell is the space that SentencePiece puts before a
  // text.
  bool drops_space = false;
};

// A piece of a call of a tool, or all of it. The first piece has an id and a name, the others none.
struct CallPart {
  uint32_t index = 0;  // of the call, in its choice
  std::string id = {};
  std::string name = {};
  std::string arguments = {};  // JSON text, an object in the end
};

// A piece of a choice, or all of it.
struct ChoicePart {
  uint32_t index = 0;
  std::string text = {};
  std::vector<TokenEntry> entries = {};
  std::optional<Finish> finish = {};
  std::string reasoning = {};
  std::vector<CallPart> calls = {};
  bool called = false;    // with `finish`: the choice has calls
  std::string stop = {};  // with `finish`: the stop string that ended it

  // Whether a client needs to hear of it.
  bool empty() const {
    return text.empty() && entries.empty() && !finish && reasoning.empty() && calls.empty();
  }
  void append(ChoicePart next);
};

// Returns the bytes of memory that a part takes until its reply was written.
uint64_t bytes_of(const ChoicePart& part);

// Reads the results of one choice of a request.
class ChoiceReader {
 public:
  virtual ~ChoiceReader() = default;
  // Takes the choice's next result and returns what became certain with it.
  virtual ChoicePart take(const Result& result) = 0;

  // Tokens generated, those without text included.
  virtual uint32_t tokens() const = 0;
  virtual uint64_t reasoning_tokens() const { return 0; }
  virtual std::optional<Finish> finish() const = 0;
};

// The bytes and the log-probabilities of a result's token. `bytes` is empty where it has no text.
TokenEntry token_entry(const Tokenizer& tokenizer, const Result& result, bool special);

// The text as it is.
class ChoiceText final : public ChoiceReader {
 public:
  // `index` is the choice's number in the reply, whatever its results say. `special`: control
  // tokens have text (Request::special_text). `prompt`: of a request with prompt_logprobs, else
  // null. The tokenizer must outlive this.
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
    size_t begin;  // of its text, in bytes of the choice's
    bool silent;   // it has none
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
  bool drops_space_;   // of its next byte
  size_t echoed_ = 0;  // tokens of it
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
