// A QueuedAnswer is one request to a model of embed/ on its way: read by the worker, accepted as a
// whole or not at all by the devices' queues, answered in one body when the last of its texts has
// its vector.
//
//   begin() -> read() and tokenise(), the worker -> submit() -> take(), by the devices' threads
//           -> settle() -> write(), the worker
//
// A route says how its body is read, what each text's tokens are, and what the vectors become. The
// worker tokenises and writes in slices, so that other requests get their turn. All that is not
// said to be another thread's happens on the reactor's.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "server/answer.h"
#include "server/queued_texts.h"

namespace hearth {

class QueuedAnswer : public Answer {
 public:
  QueuedAnswer(QueuedTexts& all, Answers& answers, std::shared_ptr<Exchange> exchange,
               const ServedEmbedder& model);

 protected:
  // The worker calls this once. Reads the body and returns the number of its texts; with 0 the
  // reply is made at once. Throws RequestError.
  virtual size_t read_call(std::string_view body) = 0;
  // The worker calls this once for each text. Throws RequestError.
  virtual EmbedQuery query_of(size_t index) = 0;
  // The worker calls this at the end. Returns the body of the reply; `tokens` counts those of all
  // texts.
  virtual std::unique_ptr<BodySource> body_of(std::vector<EmbedVector> vectors,
                                              uint64_t tokens) = 0;
  // Returns the name of the body's field that holds the texts.
  virtual const char* texts_field() const = 0;

  // Throws RequestError where a request asks for another model.
  void check_model(const std::string& asked) const;
  const ServedEmbedder& model() const { return model_; }
  const EmbeddingLimits& limits() const { return all_.limits(); }

 private:
  void begin() override;
  void let_go() noexcept override;
  void note(LogEntry* entry) const override;
  void read();
  void tokenise();
  void go_on();
  void submit();
  void take(size_t index, EmbedOutcome outcome) noexcept;
  void settle();
  ApiError too_many_tokens() const;

  QueuedTexts& all_;
  const ServedEmbedder& model_;

  size_t count_ = 0;
  std::vector<EmbedQuery> queries_;
  uint64_t tokens_ = 0, most_tokens_ = 0;  // of all texts: so far, and that idle queues would hold

  std::optional<uint64_t> ticket_;  // of the first query
  std::vector<EmbedVector> vectors_;
  // Taken of what all may have: for the body and the reply, and for tokens.
  uint64_t bytes_ = 0, token_bytes_ = 0;
  uint64_t queued_tokens_ = 0;
  std::atomic<size_t> left_{0};
  std::mutex mutex_;
  std::optional<EmbedOutcome> failed_;  // the first that did, under the mutex
  std::string asked_;                   // the body
};

// The error of a text, `what`, in this field, that has more tokens than the model takes.
ApiError text_too_long(const std::string& what, const std::string& field, size_t tokens,
                       uint32_t context);

}  // namespace hearth
