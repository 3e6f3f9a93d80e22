#include "server/embedding_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "embed/embed_text.h"
#include "embed/pooling.h"
#include "server/exception_error.h"
#include "server/reply_pieces.h"

namespace hearth {
namespace {

// The worker's slices: some milliseconds.
constexpr size_t kSliceTextBytes = 32 << 10;
// Of an element's float and of its digits in the reply.
constexpr uint64_t kBytesOfElement = 16;

// The vectors, and then their usage; a vector's memory is free once it was written.
class VectorsBody : public BodySource {
 public:
  VectorsBody(std::string_view model, const EmbeddingCall& call, std::vector<EmbedVector> vectors,
              uint64_t tokens)
      : body_(model, call.base64),
        dimensions_(call.dimensions),
        vectors_(std::move(vectors)),
        tokens_(tokens) {}

  bool next(std::string* body) override {
    for (; at_ < vectors_.size() && body_.size() < kPieceBytes; ++at_) {
      EmbedVector& vector = vectors_[at_];
      if (dimensions_) cut_dimensions(*dimensions_, true, &vector);
      body_.add(vector);
      vector = {};
    }
    bool any = at_ < vectors_.size();
    *body += any ? body_.take() : body_.finish(tokens_);
    return any;
  }

 private:
  EmbeddingBody body_;
  const std::optional<uint32_t> dimensions_;
  std::vector<EmbedVector> vectors_;
  const uint64_t tokens_;
  size_t at_ = 0;
};

// "input", or "input[3]" of several.
std::string input_name(size_t index, size_t count) {
  return count == 1 ? "input" : fmt::format("input[{}]", index);
}

ApiError too_long(const std::string& input, size_t tokens, uint32_t context) {
  return {400,
          "",
          "context_length_exceeded",
          fmt::format("{} has at least {} tokens and the model takes {}: shorten it", input, tokens,
                      context),
          input,
          {}};
}

ApiError busy(double retry_after) {
  constexpr double kMostSeconds = 60;
  auto seconds = static_cast<int>(std::clamp(std::ceil(retry_after), 1.0, kMostSeconds));
  return {429,
          "",
          "queue_full",
          fmt::format("every device has as much to do as it can do in time: try again in {} s",
                      seconds),
          {},
          {{"Retry-After", std::to_string(seconds)}}};
}

}  // namespace

EmbeddingTask::EmbeddingTask(Embeddings& all, Answers& answers, std::shared_ptr<Exchange> exchange,
                             const ServedEmbedder& model)
    : Answer(answers, std::move(exchange), &all.metrics_.requests), all_(all), model_(model) {}

void EmbeddingTask::begin() {
  asked_ = exchange().take_body();
  uint64_t bytes = asked_.size();
  if (std::optional<ApiError> error = all_.take_bytes(client(), bytes, bytes_)) return fail(*error);
  bytes_ = bytes;
  on_worker([this] { read(); }, bytes_);
}

void EmbeddingTask::read() {
  auto vocabulary = static_cast<uint32_t>(model_.tokenizer.size());
  call_ = read_embedding_call(asked_, all_.limits_, vocabulary, model_.queues.width());
  asked_ = {};
  if (!call_.model.empty() && call_.model != model_.name) {
    throw RequestError(no_such_model(call_.model, model_.name));
  }
  queries_.reserve(call_.inputs.size());
  tokenise();
}

EmbedQuery EmbeddingTask::query_of(size_t index) {
  std::string name = input_name(index, call_.inputs.size());
  const bool cuts = call_.truncate_to.has_value();
  const uint32_t most = std::min(call_.truncate_to.value_or(model_.context), model_.context);
  auto* text = std::get_if<std::string>(&call_.inputs[index]);
  if (text == nullptr) {
    auto& ids = std::get<std::vector<int32_t>>(call_.inputs[index]);
    if (cuts) ids.resize(std::min<size_t>(ids.size(), most));
    if (ids.size() > model_.context) {
      throw RequestError(too_long(name, ids.size(), model_.context));
    }
    return {{}, std::move(ids)};
  }
  EmbedTokens tokens;
  try {
    Pace turns = pace();
    tokens = embed_tokens(model_.tokenizer, *text, most, &turns);
  } catch (const RequestError&) {
    throw;  // by the pace
  } catch (const Error& error) {
    throw RequestError(
        {400, "", std::string(kInvalidValue), fmt::format("{}: {}", name, error.what()), name, {}});
  }
  if (tokens.ids.empty()) {
    throw RequestError({400,
                        "",
                        std::string(kInvalidValue),
                        fmt::format("{}: {}", name, no_tokens_reason(*text)),
                        name,
                        {}});
  }
  if (!tokens.was_cut()) return {std::move(*text), std::move(tokens.ids)};
  if (!cuts) throw RequestError(too_long(name, tokens.whole, model_.context));
  return {{}, std::move(tokens.ids)};  // the whole text is not what any device is to read
}

void EmbeddingTask::tokenise() {
  size_t bytes = 0;
  while (queries_.size() < call_.inputs.size()) {
    if (bytes >= kSliceTextBytes) return on_worker([this] { tokenise(); }, bytes_);
    queries_.push_back(query_of(queries_.size()));
    bytes += queries_.back().text.size() + queries_.back().tokens.size();
    tokens_ += query_tokens(queries_.back());
  }
  call_.inputs = {};
  on_reactor([this] { submit(); });
}

void EmbeddingTask::submit() {
  uint64_t bytes = uint64_t{queries_.size()} * model_.queues.width() * kBytesOfElement;
  if (std::optional<ApiError> error = all_.take_bytes(client(), bytes, bytes_)) return fail(*error);
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
  if (result.admitted == Admitted::kTooLong) {
    return fail({400,
                 "",
                 "too_many_tokens",
                 fmt::format("the texts have {} tokens together, more than this server can embed "
                             "in time: ask for fewer",
                             tokens_),
                 "input",
                 {}});
  }
  ticket_ = result.ticket;
  all_.metrics_.texts.add(vectors_.size());
  all_.metrics_.tokens.add(tokens_);
}

// By a device's thread, which nothing may be thrown on.
void EmbeddingTask::take(size_t index, EmbedOutcome outcome) noexcept {
  bool first = false;
  if (outcome.error) {
    std::lock_guard lock(mutex_);
    first = !failed_;
    if (first) failed_ = std::move(outcome);
  } else {
    vectors_[index] = std::move(outcome.vector);
  }
  // What is left of a request that has failed is not waited for.
  if (left_.fetch_sub(1) != 1 && !first) return;
  try {
    on_reactor([this] { settle(); });
  } catch (const std::exception&) {
    exchange().fall_short();
  }
}

void EmbeddingTask::settle() {
  std::optional<EmbedOutcome> failed;
  {
    std::lock_guard lock(mutex_);
    failed = failed_;
  }
  if (!failed) {
    if (!exchange().hold(vectors_.size() * model_.queues.width() * sizeof(float))) {
      return fail(replies_full());
    }
    return on_worker([this] { write(); }, bytes_);
  }
  if (failed->no_memory) return exchange().fall_short();
  bool later = failed->error->code() == ErrorCode::kBusy;
  fail(later ? busy(failed->retry_after) : api_error_of(*failed->error));
}

void EmbeddingTask::write() {
  reply_with(std::make_unique<VectorsBody>(model_.name, call_, std::move(vectors_), tokens_),
             Outcome::kOk);
}

void EmbeddingTask::let_go() noexcept {
  // What waits still is not computed.
  if (ticket_ && left_ > 0) model_.queues.cancel(*ticket_, vectors_.size());
  all_.give_back(client(), bytes_);
  all_.give_tokens_back(client(), queued_tokens_);
}

void EmbeddingTask::note(LogEntry* entry) const {
  if (ticket_) entry->prompt_tokens = tokens_;
}

}  // namespace hearth
