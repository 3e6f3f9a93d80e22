// A Generation is one choice of one request, from its prompt to its end. It holds the tokens,
// samples the next one from logits, makes text of it and decides when the choice ends; the
// scheduler decides when it is computed. The engine's thread uses it, except for sample_ahead().
//
// If the text's language leaves no choice, the tokens that must come (grammar/forced_tokens.h) are
// taken without logits and without a random number. So the text does not depend on how many of them
// come at once.
#pragma once

#include <exception>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "engine/job.h"
#include "engine/row_logits.h"
#include "engine/sampler.h"
#include "tokenizer/stop_strings.h"
#include "tokenizer/text_stream.h"
#include "tokenizer/tokenizer.h"

namespace hearth {

// The facts that all generations of one engine share.
struct GenerationLimits {
  const Tokenizer* tokenizer;  // null: results have no text, and no token ends it
  uint32_t vocabulary;         // ids that may be sampled: [0, vocabulary)
  uint32_t context;
};

GenerationLimits generation_limits(const Engine& engine, const Tokenizer* tokenizer);

class Generation {
 public:
  // `order` rises with the time of arrival. Choice 0 stands for all choices until take_siblings().
  Generation(std::shared_ptr<Job> job, uint32_t choice, uint64_t order);

  const Job& job() const { return *job_; }
  const Request& request() const { return job_->request(); }
  uint32_t choice() const { return choice_; }
  // Returns whether this one arrived later. The choices of one request follow each other.
  bool younger_than(const Generation& other) const {
    return std::pair(order_, choice_) > std::pair(other.order_, other.choice_);
  }

  // The prompt and the generated tokens. The tokens beyond the sequence's length are not computed
  // yet.
  std::span<const int32_t> tokens() const { return tokens_; }
  uint32_t pending() const;
  // Whether it has generated a token.
  bool started() const { return generated_ > 0; }
  // The most pending tokens with which a generation past its prompt still counts as decoding: one
  // that was sampled, and tokens that had to come after it.
  static constexpr uint32_t kMaxPending = 16;
  bool decodes() const { return started() && stream == 0 && pending() <= kMaxPending; }

  // Sets the moment at which the step ended whose results the generation takes next.
  void computed_at(double seconds) { computed_seconds_ = seconds; }
  // Tells the stream how much of the prompt was read since the last call, if the request wants
  // that.
  void report_read();

  // Returns how many of its tokens belong to the first turn, which decides the expanded rows
  // (ExpandRule).
  uint32_t first_turn() const;

  // Returns the first position whose row has not been given yet, if rows are wanted.
  uint32_t next_row() const { return next_row_; }

  // scores_left(): the rows of the prompt that are still to be scored, if its log-probabilities are
  // wanted. next_scored(): the first one's position.
  uint32_t scores_left() const {
    if (!request().prompt_logprobs) return 0;
    return static_cast<uint32_t>(request().prompt.size()) - 1 - next_scored_;
  }
  uint32_t next_scored() const { return next_scored_; }

  // The sequence is null while the generation waits.
  std::unique_ptr<Sequence> sequence;
  // The most tokens that its sequence ever had.
  uint32_t reached = 0;
  // How many of the `reached` tokens others computed.
  uint32_t cached_tokens = 0;
  // The prompt's number while a streamer's passes compute it (hybrid/streamer.h), else 0, and the
  // first position that they compute. Its sequence already has these tokens, and no step uses that
  // sequence until the passes end.
  uint64_t stream = 0;
  uint32_t streamed_from = 0;
  // Whether a pass failed for its prompt once; then no pass is tried again.
  bool by_cores = false;
  // Whether it waits for a pass: for pages that its own pass needs, or for another prompt's pass
  // that fills the pages it needs next.
  bool awaits_pass = false;
  // Returns whether a pass, and no step, computes its prompt: its own pass or another's.
  bool streams() const { return stream != 0 || awaits_pass; }
  // The number of first positions that its sequences have with an accelerator's form
  // (SequenceForms::streamed).
  uint32_t streamed_positions = 0;
  // The moment when it first had a place in a step; 0: not yet.
  double admitted_seconds = 0;
  // True if it was left out at its last turn, since its client's stream had no room.
  bool held_up = false;
  // True if it was left out of a step because another sequence's part computes its next page.
  bool awaits = false;
  // Whether it is still held up, which ends when there is room for max_results().
  bool still_held_up();
  // The most results that a step may set aside room for. For text these are all choices' first
  // tokens and the end of the prompt's log-probabilities. For rows, as many as fill half of the
  // client's stream, so that the client reads one half while the other is computed. Tokens that
  // must come find their room when they come, or wait for the next step.
  uint32_t max_results() const;

  // Returns the request's other choices, which continue from here; called once, when the prompt has
  // been computed.
  std::list<std::unique_ptr<Generation>> take_siblings();
  // Returns how many choices part ways once the prompt has been computed, this one included.
  uint32_t choices_together() const { return siblings_ + 1; }

  // Samples the token that take_token() delivers next, if one is to be sampled: tries tokens in the
  // language, makes a mask if one is needed, and draws. Several threads may call it for different
  // generations. Errors are kept for take_token(). It changes no token.
  void sample_ahead(RowLogits& logits, const GenerationLimits& limits) noexcept;
  // Delivers the next token: the one that must come, if there is one, else the one that it samples
  // from these logits. Returns the reason if that token was the last, and kFailed if none may come
  // or the logits are not numbers.
  std::optional<Finish> take_token(RowLogits& logits, const GenerationLimits& limits);
  // Returns whether the token after the last one must come, so that take_token() asks for no
  // logits.
  bool knows_next() const { return !forced_.empty(); }
  // Returns how many of its tokens had to come and were not sampled.
  uint32_t forced_count() const { return forced_count_; }
  // Delivers the scores of the prompt's tokens after the next rows. Returns true at the end.
  bool take_scores(std::span<ScoredToken> scored);
  // Delivers the row of a prompt position. Returns true if that was the last row.
  bool take_row(uint32_t position, std::span<const float> row);
  // Delivers its end without a token, also for the choices that it stands for.
  void end(Finish finish, std::string_view error = {}) noexcept;

 private:
  Result result(uint32_t index) const;
  void note_computed(Result* result);
  // A sampled token, or the reason why none can be sampled.
  struct Sampled {
    std::optional<int32_t> token;
    std::string trouble = {};
    double logprob = 0;
    std::vector<std::pair<int32_t, double>> top_logprobs = {};
  };
  Sampled sample(RowLogits& logits, const GenerationLimits& limits);
  std::optional<int32_t> sample_best(std::span<const TokenLogit> best, uint32_t needed);
  std::optional<int32_t> sample_row(std::span<const float> row);
  Sampled next(RowLogits& logits, const GenerationLimits& limits);
  bool wants_logprobs() const { return request().logprobs || request().top_logprobs > 0; }
  void find_forced(const GenerationLimits& limits) noexcept;
  bool ends_language(int32_t token);
  void find_stop(int32_t token, const Tokenizer& tokenizer);
  void add_token(int32_t token, const GenerationLimits& limits, Result* result);
  std::optional<Finish> deliver(Result result);
  std::optional<Finish> end_without_token(std::string error);

  std::shared_ptr<Job> job_;
  uint32_t choice_;
  uint64_t order_;
  uint32_t siblings_ = 0;
  std::vector<int32_t> tokens_;
  uint32_t generated_ = 0;
  uint32_t next_row_;
  uint32_t next_scored_ = 0;
  double computed_seconds_ = 0;  // when the last step ended
  PromptRead reported_read_;
  double first_token_seconds_ = 0;
  Sampler sampler_;
  TextStream text_;
  StopMatcher tagged_stops_;         // finds stop strings in only a part of the text
  std::optional<Matcher> language_;  // follows the text in the request's language
  std::vector<int32_t> forced_;      // the tokens that must come next, as far as they are known
  uint32_t forced_count_ = 0;
  std::vector<TokenLogit> allowed_;  // the likeliest tokens that may come
  std::vector<uint64_t> mask_;       // a bit for each token that may come
  bool looked_ahead_ = false;        // sample_ahead() has been called for the next token
  std::optional<Sampled> ahead_;     // the result of sample_ahead()
  std::exception_ptr ahead_error_;   // why there is no next token
};

}  // namespace hearth
