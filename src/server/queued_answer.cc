#include "server/queued_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "server/exception_error.h"
#include "server/reply_pieces.h"

namespace hearth {
namespace {

// The worker tokenises in slices of so many bytes of text, some milliseconds each.
constexpr size_t kSliceTextBytes = 32 << 10;
// Bytes of memory for one element of a vector: as a float, and as digits in the reply.
constexpr uint64_t kBytesOfElement = 16;

ApiError busy(double retry_after) {
  constexpr double kMaxSeconds = 60;
  auto seconds = static_cast<int>(std::clamp(std::ceil(retry_after), 1.0, kMaxSeconds));
  return {429,
          "",
          "queue_full",
          fmt::format("all devices are busy and cannot answer in time: try again in {} s", seconds),
          {},
          {{"Retry-After", std::to_string(seconds)}}};
}

}  // namespace

QueuedAnswer::QueuedAnswer(QueuedTexts& all, Answers& answers, std::shared_ptr<Exchange> exchange,
                           const ServedEmbedder& model)
    : Answer(answers, std::move(exchange), &all.metrics().requests), all_(all), model_(model) {}

void QueuedAnswer::begin() {
  asked_ = exchange().take_body();
  uint64_t bytes = asked_.size();
  if (std::optional<ApiError> error = all_.take_bytes(client(), bytes, bytes_)) return fail(*error);
  bytes_ = bytes;
  on_worker([this] { read(); }, bytes_);
}

void QueuedAnswer::check_model(const std::string& asked) const {
  if (was_chosen_for() || asked.empty() || asked == model_.name) return;
  throw RequestError(no_such_model(asked, model_.name));
}

void QueuedAnswer::read() {
  count_ = read_call(asked_);
  asked_ = {};
  if (count_ == 0) return reply_with(body_of({}, 0), Outcome::kOk);
  queries_.reserve(count_);
  for (const DeviceStatistics& device : model_.queues.statistics()) max_tokens_ += device.slots;
  tokenise();
}

void QueuedAnswer::tokenise() {
  size_t bytes = 0;
  while (queries_.size() < count_) {
    if (bytes >= kSliceTextBytes) return on_reactor([this] { go_on(); });
    queries_.push_back(query_of(queries_.size()));
    bytes += queries_.back().text.size() + queries_.back().tokens.size();
    tokens_ += query_tokens(queries_.back());
    if (tokens_ > max_tokens_) throw RequestError(too_many_tokens());
  }
  on_reactor([this] { submit(); });
}

// Takes memory for the tokens so far before the next slice: a reranker's query is repeated in each
// text, so the tokens may take more memory than the body.
void QueuedAnswer::go_on() {
  const uint64_t more = tokens_ * sizeof(int32_t) - token_bytes_, held = bytes_ + token_bytes_;
  if (std::optional<ApiError> error = all_.take_bytes(client(), more, held)) return fail(*error);
  token_bytes_ += more;
  on_worker([this] { tokenise(); }, bytes_);
}

ApiError QueuedAnswer::too_many_tokens() const {
  return {400,
          "",
          "too_many_tokens",
          fmt::format("the texts have at least {} tokens together, more than this server can "
                      "process in time: send fewer",
                      tokens_),
          texts_field(),
          {}};
}

void QueuedAnswer::submit() {
  uint64_t bytes = uint64_t{queries_.size()} * model_.queues.width() * kBytesOfElement;
  const uint64_t held = bytes_ + token_bytes_;
  if (std::optional<ApiError> error = all_.take_bytes(client(), bytes, held)) return fail(*error);
  bytes_ += bytes;
  if (std::optional<ApiError> error = all_.take_tokens(client(), tokens_, model_)) {
    return fail(*error);
  }
  queued_tokens_ = tokens_;
  vectors_.resize(queries_.size());
  left_ = queries_.size();
  SubmitResult result = model_.queues.submit_all(
      std::move(queries_), [this, self = shared_from_this()](size_t index, EmbedOutcome outcome) {
        take(index, std::move(outcome));
      });
  if (result.admitted == Admitted::kBusy) return fail(busy(result.retry_after));
  if (result.admitted == Admitted::kTooLong) return fail(too_many_tokens());
  ticket_ = result.ticket;
  all_.metrics().texts.add(vectors_.size());
  all_.metrics().tokens.add(tokens_);
}

// Called by a device's thread, which no exception may reach.
void QueuedAnswer::take(size_t index, EmbedOutcome outcome) noexcept {
  bool first = false;
  if (outcome.error) {
    std::lock_guard lock(mutex_);
    first = !failed_;
    if (first) failed_ = std::move(outcome);
  } else {
    vectors_[index] = std::move(outcome.vector);
  }
  // The request is settled by its last result, or already by the first error: other results are
  // then not waited for.
  if (left_.fetch_sub(1) != 1 && !first) return;
  try {
    on_reactor([this] { settle(); });
  } catch (const std::exception&) {
    exchange().fall_short();
  }
}

void QueuedAnswer::settle() {
  std::optional<EmbedOutcome> failed;
  {
    std::lock_guard lock(mutex_);
    failed = failed_;
  }
  if (!failed) {
    if (!exchange().hold(vectors_.size() * model_.queues.width() * sizeof(float))) {
      return fail(replies_full());
    }
    return on_worker([this] { reply_with(body_of(std::move(vectors_), tokens_), Outcome::kOk); },
                     bytes_);
  }
  if (failed->no_memory) return exchange().fall_short();
  bool later = failed->error->code() == ErrorCode::kBusy;
  fail(later ? busy(failed->retry_after) : api_error_of(*failed->error));
}

void QueuedAnswer::let_go() noexcept {
  // Cancels the texts that still wait for a device.
  if (ticket_ && left_ > 0) model_.queues.cancel(*ticket_, vectors_.size());
  all_.give_back(client(), bytes_ + token_bytes_);
  all_.give_tokens_back(client(), queued_tokens_);
}

void QueuedAnswer::note(LogEntry* entry) const {
  if (ticket_) entry->prompt_tokens = tokens_;
}

ApiError text_too_long(const std::string& what, const std::string& field, size_t tokens,
                       uint32_t context) {
  return {400,
          "",
          "context_length_exceeded",
          fmt::format("{} has at least {} tokens, more than the model's context of {}: shorten it",
                      what, tokens, context),
          field,
          {}};
}

}  // namespace hearth
