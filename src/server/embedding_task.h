// An EmbeddingTask is one request for embeddings on its way: read by the worker, accepted as a
// whole or not at all by the devices' queues, answered in one body when the last vector is there.
//
//   begin() -> read() and tokenise(), the worker -> submit() -> take(), by the devices' threads
//           -> settle() -> write(), the worker
//
// The worker tokenises and writes in slices, so that other requests get their turn. All that is not
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
#include "server/embedding_body.h"
#include "server/embeddings.h"

namespace hearth {

class EmbeddingTask final : public Answer {
 public:
  EmbeddingTask(Embeddings& all, Answers& answers, std::shared_ptr<Exchange> exchange,
                const ServedEmbedder& model);

 private:
  void begin() override;
  void let_go() noexcept override;
  void note(LogEntry* entry) const override;
  void read();
  void tokenise();
  EmbedQuery query_of(size_t index);
  void submit();
  void take(size_t index, EmbedOutcome outcome) noexcept;
  void settle();
  void write();

  Embeddings& all_;
  const ServedEmbedder& model_;

  EmbeddingCall call_;
  std::vector<EmbedQuery> queries_;
  uint64_t tokens_ = 0;

  std::optional<uint64_t> ticket_;  // of the first query
  std::vector<EmbedVector> vectors_;
  uint64_t bytes_ = 0, queued_tokens_ = 0;  // taken of what all may have
  std::atomic<size_t> left_{0};
  std::mutex mutex_;
  std::optional<EmbedOutcome> failed_;  // the first that did, under the mutex
  std::string asked_;                   // the body
};

}  // namespace hearth
