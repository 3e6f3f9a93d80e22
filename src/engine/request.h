// A Request is all that a client asks of the engine. It is answered by Results, one for every token
// or row; the last one of each choice says why it ended.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/sampler.h"
#include "grammar/matcher.h"

namespace hearth {

enum class Deliver : uint8_t {
  kText,    // generated tokens and their text
  kPrompt,  // log-probabilities of the prompt's tokens, if asked for; nothing is generated
  kLogits,  // rows [vocabulary] of the prompt's positions from `rows_from` on; nothing is generated
  kHidden,  // rows [width], the final norm's output, of the same positions
};

struct Request {
  std::vector<int32_t> prompt;  // at least one token
  // The number of these tokens that the conversation had when its first reply began, if the prompt
  // holds replies; 0: all. In a model with latents it decides which rows are expanded (ExpandRule),
  // so that a conversation that goes on finds the pages of its earlier turns.
  uint32_t first_turn = 0;
  Deliver deliver = Deliver::kText;
  bool wants_rows() const { return deliver == Deliver::kLogits || deliver == Deliver::kHidden; }
  uint32_t rows_from = 0;

  // The client of the request. Places and pages are shared out among clients (engine/scheduler.h).
  std::string client;

  SamplingParams sampling;
  uint32_t max_tokens = 0;  // 0: as many as the context holds
  // How many continuations are generated of the prompt, which is computed once; choice i is sampled
  // with seed + i.
  uint32_t choices = 1;
  // The language of the generated text, from its beginning; null: any text. The text ends if
  // nothing may follow, or if the model ends it at a place where it may end.
  std::shared_ptr<const Matcher> language = nullptr;
  std::vector<std::string> stops;
  // The tags of a language's grammar (GrammarBuilder::set_tag) within whose parts of the text stop
  // strings are searched for. 0: they are searched for in all of the text.
  uint32_t stop_tags = 0;
  std::vector<int32_t> stop_tokens = {};  // end the text like the model's own end tokens
  // Whether the text includes what ended it: the stop string, or the token of `stop_tokens`.
  bool include_stop = false;
  bool special_text = false;  // the text shows control tokens by their names
  bool logprobs = false;      // gives the chosen token's log-probability
  uint32_t top_logprobs = 0;  // and those of this many of the likeliest tokens
  // Asks in kText and kPrompt also for the log-probabilities of the prompt's tokens, with
  // `top_logprobs` of the likeliest ones, before the first generated token. The first token of a
  // prompt has none. All of the prompt is then computed, even if the prefix cache has parts of it.
  bool prompt_logprobs = false;
  // Whether the stream is told how much of the prompt has been computed (ResultStream::read()).
  bool report_read = false;
};

// The most log-probabilities of its prompt that a request may ask for: its tokens times
// (`top_logprobs` + 1). Each takes 16 to 32 bytes until it is read.
inline constexpr uint64_t kMaxPromptLogprobs = uint64_t{1} << 20;

enum class Finish : uint8_t {
  kEndOfText,
  kLength,   // max_tokens, or nothing was to be generated
  kContext,  // the context is full
  kStopString,
  kComplete,  // all rows were given
  kCancelled,
  kFailed,  // Result::error says why
};
// Result::error if memory ran out; so short that copying it needs no memory.
inline constexpr std::string_view kNoMemory = "no memory";

// Returns a stable name for machine-readable output: "end of text", "length".
const char* finish_name(Finish finish);

// Returns the text for Result::error of an exception.
std::string_view failure_text(const std::exception& error);

struct Result {
  uint64_t request = 0;
  uint32_t choice = 0;
  // A token's number, 0, 1, ..., or the position of a row or of a prompt's token.
  uint32_t index = 0;
  int32_t token = kNoToken;
  // The text that became certain with this token; joined, these texts are the text generated.
  std::string text;
  // The log-probability by the model's own distribution, before any sampling option; set where
  // asked for.
  double logprob = 0;
  std::vector<std::pair<int32_t, double>> top_logprobs;  // the likeliest first
  // The scores of the prompt's tokens from position `index` on, as many as a step computed; such a
  // result has no token, and comes once for all choices, as choice 0's.
  std::vector<TokenScore> prompt_logprobs;
  std::vector<float> row;
  uint32_t cached_tokens = 0;  // tokens of the prompt that the prefix cache had
  // Moments by the scheduler's clock, by default steady_seconds(); 0 before they come.
  double admitted_seconds = 0;     // when the first step began that the request was admitted to
  double first_token_seconds = 0;  // when the choice's first token, or row, had been computed
  double computed_seconds = 0;     // when this token or row had been computed

  std::optional<Finish> finish;  // set in a choice's last result
  std::string stop;              // the stop string found
  std::string error;

  static constexpr int32_t kNoToken = -1;
  bool has_token() const { return token != kNoToken; }
};

}  // namespace hearth
