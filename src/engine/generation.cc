#include "engine/generation.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/enum_name.h"
#include "base/error.h"
#include "base/shortage.h"
#include "engine/logits.h"
#include "grammar/forced_tokens.h"

namespace hearth {
namespace {

// The number of likeliest tokens that are tried against the language before a mask of all tokens is
// made.
constexpr uint32_t kCandidates = 64;

constexpr const char* kNoneOfLanguage =
    "no token may come next: the logit bias, the list of allowed tokens, ignore_eos or min_tokens "
    "forbids all that the grammar or schema allows here";

bool looks_at_tags(const Request& request) {
  return request.language != nullptr && request.stop_tags != 0;
}

SamplingParams params_of(const Request& request, uint32_t choice) {
  SamplingParams params = request.sampling;
  params.seed += choice;
  return params;
}

}  // namespace

std::string_view failure_text(const std::exception& error) {
  return is_shortage(error) ? kNoMemory : error.what();
}

const char* finish_name(Finish finish) {
  return enum_name<Finish::kFailed>(
      {"end of text", "length", "context", "stop string", "complete", "cancelled", "failed"},
      finish);
}

GenerationLimits generation_limits(const Engine& engine, const Tokenizer* tokenizer) {
  GenerationLimits limits{tokenizer, engine.spec().hyper.vocabulary, engine.context()};
  // Padding rows of the embedding table have logits, but are no tokens.
  if (tokenizer != nullptr) {
    limits.vocabulary = std::min(limits.vocabulary, static_cast<uint32_t>(tokenizer->size()));
  }
  return limits;
}

Generation::Generation(std::shared_ptr<Job> job, uint32_t choice, uint64_t order)
    : job_(std::move(job)),
      choice_(choice),
      order_(order),
      siblings_(choice == 0 ? job_->request().choices - 1 : 0),
      tokens_(job_->request().prompt),
      next_row_(job_->request().rows_from),
      sampler_(params_of(job_->request(), choice)),
      text_(looks_at_tags(job_->request()) ? std::vector<std::string>() : job_->request().stops),
      tagged_stops_(looks_at_tags(job_->request()) ? job_->request().stops
                                                   : std::vector<std::string>()) {
  for (int32_t token : tokens_) sampler_.accept_prompt(token);
  if (request().language != nullptr) language_ = *request().language;
}

// Tells the stream how much of the prompt was read. Tokens that are read again after their pages
// were evicted are not told again.
void Generation::report_read() {
  if (!request().report_read || started() || choice_ != 0) return;
  const uint64_t tokens = sequence->length(), cached = cached_tokens;
  if (tokens <= reported_read_.tokens) return;
  const double seconds = computed_seconds_ - admitted_seconds;
  job_->stream().add_read(
      {tokens - reported_read_.tokens, cached - reported_read_.cached, seconds});
  reported_read_ = {tokens, cached, seconds};
}

uint32_t Generation::first_turn() const {
  const auto prompt = static_cast<uint32_t>(request().prompt.size());
  return request().first_turn == 0 ? prompt : std::min(request().first_turn, prompt);
}

uint32_t Generation::pending() const {
  return static_cast<uint32_t>(tokens_.size()) - (sequence ? sequence->length() : 0);
}

bool Generation::still_held_up() {
  held_up = held_up && !job_->stream().has_room(max_results());
  return held_up;
}

uint32_t Generation::max_results() const {
  const uint32_t scores = request().prompt_logprobs ? 1 : 0;
  return std::max(choices_together() + scores, job_->stream().capacity() / 2);
}

std::list<std::unique_ptr<Generation>> Generation::take_siblings() {
  std::list<std::unique_ptr<Generation>> others;
  for (uint32_t choice = 1; choice <= siblings_; ++choice) {
    auto& other = others.emplace_back(std::make_unique<Generation>(job_, choice, order_));
    other->reached = reached;
    other->cached_tokens = cached_tokens;
    other->admitted_seconds = admitted_seconds;
    other->computed_seconds_ = computed_seconds_;
    other->next_scored_ = next_scored_;
    other->by_cores = by_cores;
    other->streamed_positions = streamed_positions;
    other->sequence = sequence->fork();
  }
  siblings_ = 0;
  return others;
}

Result Generation::result(uint32_t index) const {
  Result result;
  result.request = job_->id();
  result.choice = choice_;
  result.index = index;
  result.cached_tokens = cached_tokens;
  result.admitted_seconds = admitted_seconds;
  result.first_token_seconds = first_token_seconds_;
  return result;
}

// Sets the times of a result that has a token or a row.
void Generation::note_computed(Result* result) {
  if (first_token_seconds_ == 0) first_token_seconds_ = computed_seconds_;
  result->first_token_seconds = first_token_seconds_;
  result->computed_seconds = computed_seconds_;
}

void Generation::sample_ahead(RowLogits& logits, const GenerationLimits& limits) noexcept {
  looked_ahead_ = true;
  try {
    if (!started()) find_forced(limits);
    if (!ahead_error_ && !knows_next()) ahead_ = sample(logits, limits);
  } catch (...) {
    ahead_error_ = std::current_exception();
  }
}

std::optional<Finish> Generation::take_token(RowLogits& logits, const GenerationLimits& limits) {
  if (!std::exchange(looked_ahead_, false) && !started()) find_forced(limits);
  Result out = result(generated_);
  try {
    Sampled taken = next(logits, limits);
    if (!taken.token) return end_without_token(std::move(taken.trouble));
    out.logprob = taken.logprob;
    out.top_logprobs = std::move(taken.top_logprobs);
    add_token(*taken.token, limits, &out);
  } catch (const Error& error) {
    // The language has failed: it needs more memory than a text may take.
    return end_without_token(error.what());
  }
  const std::optional<Finish> finish = deliver(std::move(out));
  if (!finish) find_forced(limits);
  return finish;
}

Generation::Sampled Generation::next(RowLogits& logits, const GenerationLimits& limits) {
  if (ahead_error_) std::rethrow_exception(std::exchange(ahead_error_, nullptr));
  if (ahead_) return *std::exchange(ahead_, std::nullopt);
  if (!knows_next()) return sample(logits, limits);
  const int32_t token = forced_.front();
  forced_.erase(forced_.begin());
  ++forced_count_;
  return {token};
}

// Finds the tokens that must come next, once no token is left that was known to come. If the
// request's other options forbid one of them, the sampler decides. An error is kept for the next
// token, since the token before it is valid.
void Generation::find_forced(const GenerationLimits& limits) noexcept {
  if (!language_ || limits.tokenizer == nullptr || wants_logprobs()) return;
  try {
    if (forced_.empty()) {
      std::string before;
      if (started()) before = limits.tokenizer->token_bytes(tokens_.back());
      forced_ = forced_tokens(*language_, *limits.tokenizer, before);
      // Drops forced tokens that the language refuses, such as a member's name that its object
      // already has.
      if (!forced_.empty()) forced_.resize(language_->validate(forced_));
    }
  } catch (...) {
    forced_.clear();
    ahead_error_ = std::current_exception();
  }
  if (forced_.empty()) return;
  const int32_t token = forced_.front();
  if (static_cast<uint32_t>(token) >= limits.vocabulary || !sampler_.may_come(token)) {
    forced_.clear();
  }
}

// Samples a token, from only the likeliest tokens if these are enough. A log-probability needs the
// logits of all tokens.
Generation::Sampled Generation::sample(RowLogits& logits, const GenerationLimits& limits) {
  const bool probable = wants_logprobs();
  const uint32_t needed = probable ? 0 : sampler_.best_needed(limits.vocabulary);
  if (needed > 0) {
    const uint32_t count = language_ ? std::max(needed, kCandidates) : needed;
    const std::span<const TokenLogit> best = logits.best(count, limits.vocabulary);
    if (best.empty()) return {{}, kNotNumbers};
    if (const std::optional<int32_t> token = sample_best(best, needed)) return {token};
  }
  const std::span<const float> row = logits.all().first(limits.vocabulary);
  if (!all_finite(row)) return {{}, kNotNumbers};
  const std::optional<int32_t> token = sample_row(row);
  if (!token) return {{}, language_ ? kNoneOfLanguage : kAllForbidden};
  Sampled sampled{token};
  if (probable) {
    const double norm = log_sum_exp(row);
    sampled.logprob = row[static_cast<size_t>(*token)] - norm;
    sampled.top_logprobs = top_logprobs(row, norm, request().top_logprobs);
  }
  return sampled;
}

// Samples from the likeliest tokens; returns none if too few of them may come in the language.
std::optional<int32_t> Generation::sample_best(std::span<const TokenLogit> best, uint32_t needed) {
  if (!language_) return sampler_.sample_best(best);
  allowed_.clear();
  for (const TokenLogit& candidate : best) {
    if (!language_->allows(candidate.token)) continue;
    allowed_.push_back(candidate);
    if (allowed_.size() == needed) return sampler_.sample_best(allowed_);
  }
  return {};
}

std::optional<int32_t> Generation::sample_row(std::span<const float> row) {
  if (!language_) return sampler_.sample(row);
  if (sampler_.draws_from_all(row.size())) {
    const std::optional<int32_t> token = sampler_.sample(row);
    if (token && language_->allows(*token)) return token;
  }
  mask_.resize(language_->vocabulary().mask_words());
  language_->mask(mask_);
  return sampler_.sample(row, mask_);
}

// Returns whether nothing may follow the token.
bool Generation::ends_language(int32_t token) {
  if (!language_->accept(token)) {
    fail(ErrorCode::kResource,
         "the grammar allowed token {} and then rejected it: this is a bug in the grammar engine; "
         "please report it",
         token);
  }
  return language_->must_end();
}

// Looks for stop strings in the parts of the token's text whose tags the request names.
void Generation::find_stop(int32_t token, const Tokenizer& tokenizer) {
  const std::span<const uint32_t> tags = language_->tags();
  const std::string bytes = tokenizer.token_bytes(token);
  if (language_->was_control() || tags.size() != bytes.size()) return;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if ((tags[i] & request().stop_tags) != 0) tagged_stops_.push({&bytes[i], 1});
  }
}

std::optional<Finish> Generation::end_without_token(std::string error) {
  Result out = result(generated_);
  out.finish = Finish::kFailed;
  out.error = std::move(error);
  out.text = text_.end();
  return deliver(std::move(out));
}

std::optional<Finish> Generation::deliver(Result result) {
  std::optional<Finish> finish = result.finish;
  job_->stream().push_reserved(std::move(result));
  return finish;
}

void Generation::add_token(int32_t token, const GenerationLimits& limits, Result* result) {
  sampler_.accept(token);
  tokens_.push_back(token);
  ++generated_;
  note_computed(result);
  result->token = token;
  const bool end = std::ranges::count(request().stop_tokens, token) > 0 ||
                   (limits.tokenizer != nullptr && limits.tokenizer->is_eog(token));
  if ((!end || request().include_stop) && limits.tokenizer != nullptr) {
    result->text = text_.push(limits.tokenizer->token_bytes(token, request().special_text));
  }
  const bool over = language_ && !end && ends_language(token);
  if (!end && limits.tokenizer != nullptr && looks_at_tags(request()))
    find_stop(token, *limits.tokenizer);
  if (tagged_stops_.stopped()) {
    result->finish = Finish::kStopString;
    result->stop = tagged_stops_.matched();
  } else if (end || over) {
    result->finish = Finish::kEndOfText;
  } else if (text_.stopped()) {
    result->finish = Finish::kStopString;
    result->stop = text_.stop();
  } else if (generated_ == request().max_tokens) {
    result->finish = Finish::kLength;
  } else if (tokens_.size() > limits.context) {
    result->finish = Finish::kContext;
  }
  if (result->finish) result->text += text_.end();
  if (text_.stopped() && request().include_stop) result->text += text_.stop();
}

bool Generation::take_scores(std::span<ScoredToken> scored) {
  Result out = result(next_scored_ + 1);
  out.computed_seconds = computed_seconds_;
  out.prompt_logprobs.reserve(scored.size());
  for (ScoredToken& one : scored) out.prompt_logprobs.push_back(std::move(one.score));
  next_scored_ += static_cast<uint32_t>(scored.size());
  if (request().deliver == Deliver::kPrompt && pending() == 0) out.finish = Finish::kLength;
  return deliver(std::move(out)).has_value();
}

bool Generation::take_row(uint32_t position, std::span<const float> row) {
  Result out = result(position);
  note_computed(&out);
  out.row.assign(row.begin(), row.end());
  next_row_ = position + 1;
  bool last = next_row_ == tokens_.size();
  if (last) out.finish = Finish::kComplete;
  job_->stream().push_reserved(std::move(out));
  return last;
}

void Generation::end(Finish finish, std::string_view error) noexcept {
  for (uint32_t choice = 1; choice <= siblings_; ++choice) {
    Result out = result(generated_);
    out.choice = choice;
    job_->end(std::move(out), finish, error);
  }
  Result out = result(generated_);
  try {
    out.text = text_.end();
  } catch (const std::bad_alloc&) {
    // There was no memory for the text's last bytes, but the end of the text is delivered.
  }
  job_->end(std::move(out), finish, error);
}

}  // namespace hearth
