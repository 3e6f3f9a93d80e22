// Turns the engine's results of one choice of a chat into what a client gets of its turn:
// reasoning, content, calls of tools, and the log-probabilities of the tokens of the content.
//
// A stop string ends the content where the engine ended the text, which looks for them in content
// alone (Request::stop_tags).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chat/turn_language.h"
#include "chat/turn_reader.h"
#include "engine/request.h"
#include "server/choice_text.h"
#include "tokenizer/stop_strings.h"
#include "tokenizer/tokenizer.h"

namespace hearth {

class TurnChoice final : public ChoiceReader {
 public:
  // `request`: what the engine was asked. `reasoning`: the client wants it. The tokenizer must
  // outlive this.
  TurnChoice(const Tokenizer& tokenizer, std::shared_ptr<const TurnLanguage> language,
             uint32_t index, const Request& request, bool reasoning);

  ChoicePart take(const Result& result) override;
  uint32_t tokens() const override { return tokens_; }
  uint64_t reasoning_tokens() const override { return reader_.reasoning_tokens(); }
  std::optional<Finish> finish() const override { return finish_; }

 private:
  // A token that was read, of which nothing was given.
  struct Unshown {
    size_t begin;  // in the bytes of all tokens with text
    TokenEntry entry;
  };

  bool ends_text(const Result& result) const;
  void read(const Result& result, ChoicePart* part);
  void add_content(const std::string& text, ChoicePart* part);
  void add_events(ChoicePart* part);
  void add_arguments(const TurnEvent& event, ChoicePart* part);
  void pass(std::string_view text, std::vector<TokenEntry>* entries);
  void pass_all();
  void end(const Result& result, bool ended_by_token, ChoicePart* part);
  std::string call_id(const TurnEvent& event);

  const Tokenizer* tokenizer_;
  const std::shared_ptr<const TurnLanguage> language_;
  const uint32_t index_;
  const std::vector<int32_t> stop_tokens_;
  const bool include_stop_, logprobs_, special_, reasoning_;
  TurnReader reader_;
  StopMatcher stops_;  // of the content
  std::vector<TurnEvent> events_;
  uint32_t tokens_ = 0;
  std::optional<Finish> finish_;
  std::vector<std::string> ids_;  // of its calls

  // The text of the tokens, kept where log-probabilities are asked for. It is more than the client
  // gets: markup and white space stand around that.
  std::string expected_;      // that was not passed yet
  size_t expected_from_ = 0;  // bytes before it
  bool seam_ = true;          // something else may stand before the next content in it
  std::deque<Unshown> unshown_;
};

// A new id of a call: "call_" and 24 letters and digits, or as many as `length` says, where that is
// not 0.
std::string new_call_id(uint32_t length);

}  // namespace hearth
