// TurnChoice turns the engine's results of one choice of a chat into the parts that a client gets:
// reasoning, content, tool calls, and the log-probabilities of the content's tokens.
//
// A stop string ends the turn only if it is in the content. The engine, too, looks for stop strings
// only there (Request::stop_tags).
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
  // `request`: the request to the engine. `reasoning`: the client gets the reasoning. The tokenizer
  // must outlive this.
  TurnChoice(const Tokenizer& tokenizer, std::shared_ptr<const TurnLanguage> language,
             uint32_t index, const Request& request, bool reasoning);

  ChoicePart take(const Result& result) override;
  uint32_t tokens() const override { return tokens_; }
  uint64_t reasoning_tokens() const override { return reader_.reasoning_tokens(); }
  std::optional<Finish> finish() const override { return finish_; }

 private:
  // A token none of whose text has been given to the client.
  struct Unshown {
    size_t begin;  // where its text begins in that of all tokens, in bytes
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
  StopMatcher stops_;  // finds stop strings in the content
  std::vector<TurnEvent> events_;
  uint32_t tokens_ = 0;
  std::optional<Finish> finish_;
  std::vector<std::string> ids_;  // the ids of the calls so far

  // The tokens' text from the first byte not yet given, kept for log-probabilities. It has more
  // than the client gets: markup and white space between the parts.
  std::string expected_;      // the text that was not yet passed
  size_t expected_from_ = 0;  // how many bytes were passed before `expected_`
  bool seam_ = true;          // markup may precede the next content
  std::deque<Unshown> unshown_;
};

// Returns a new id for a call: "call_" and 24 letters and digits; `length` above 0: that many.
std::string new_call_id(uint32_t length);

}  // namespace hearth
