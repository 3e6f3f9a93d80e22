// A QueuedAnswer is one request to an embedder or a reranker: the worker reads it, the devices'
// queues accept all of its texts or none, and one body answers it when the last text has its
// vector.
//
//   begin() -> read() and tokenise(), the worker -> submit() -> take(), by the devices' threads
//           -> settle() -> write(), the worker
//
// A route's class says how its body is read, which tokens each text has, and what reply the vectors
// make. The worker tokenises and writes in slices, so that other requests get their turn. All
// functions run on the reactor's thread unless they name another one.
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
  // Reads the body and returns the number of its texts; with 0 the reply is made at once. The
  // worker calls this once. Throws RequestError.
  virtual size_t read_call(std::string_view body) = 0;
  // Returns the query of one text. The worker calls this once for each. Throws RequestError.
  virtual EmbedQuery query_of(size_t index) = 0;
  // Returns the body of the reply. The worker calls this at the end. `tokens`: the number in all
  // texts.
  virtual std::unique_ptr<BodySource> body_of(std::vector<EmbedVector> vectors,
                                              uint64_t tokens) = 0;
  // Returns the name of the body's field that holds the texts.
  virtual const char* texts_field() const = 0;

  // Throws RequestError where the request asks for another model than this one.
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
  // The tokens of all texts so far, and the most that idle queues would take.
  uint64_t tokens_ = 0, max_tokens_ = 0;

  std::optional<uint64_t> ticket_;  // the first query's
  std::vector<EmbedVector> vectors_;
  // Bytes taken from the memory of all requests: for the body and the reply, and for tokens.
  uint64_t bytes_ = 0, token_bytes_ = 0;
  uint64_t queued_tokens_ = 0;
  std::atomic<size_t> left_{0};
  std::mutex mutex_;
  std::optional<EmbedOutcome> failed_;  // the first failure, guarded by the mutex
  std::string asked_;                   // the body
};

// Returns the error that a text, called `what`, has more tokens than the model's `context`.
// `field`: the body's field it is in.
ApiError text_too_long(const std::string& what, const std::string& field, size_t tokens,
                       uint32_t context);

}  // namespace hearth
