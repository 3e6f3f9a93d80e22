// An EmbeddingTask is one request for embeddings on its way: read by the worker, accepted as a
// whole or not at all by the devices' queues, answered in one body when the last vector is there.
//
//   start() -> read() and tokenise(), the worker -> submit() -> take(), by the devices' threads
//           -> settle() -> write(), the worker -> finish(), or fail() or leave() in between: one of
//           these three, once
//
// The worker tokenises and writes in slices, so that other requests get their turn. Where memory
// runs out, wherever that is, the exchange falls short, which ends in leave(). All that is not
// said to be another thread's happens on the reactor's.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/embedding_body.h"
#include "server/embeddings.h"
#include "server/reply_pieces.h"

namespace hearth {

class EmbeddingTask : public std::enable_shared_from_this<EmbeddingTask> {
 public:
  EmbeddingTask(Embeddings& all, std::shared_ptr<Exchange> exchange, const ServedEmbedder& model);

  void start();
  void fail(const ApiError& error) noexcept;
  // The client is gone, or there was no memory for its answer.
  void leave() noexcept;
  // There is nobody left to tell.
  void forget() { ended_ = true; }

 private:
  using Work = void (EmbeddingTask::*)();
  // Both do nothing where the request has ended, and end it with what `part` throws.
  void on_worker(Work part);
  void on_reactor(Work part);
  void guarded(Work part);
  void read();
  void tokenise();
  EmbedQuery query_of(size_t index);
  void submit();
  void take(size_t index, EmbedOutcome outcome) noexcept;
  void settle();
  void write();
  void finish();
  void cancel();
  void end(EmbeddingOutcome outcome, unsigned status, std::string_view finish) noexcept;
  void note_end(EmbeddingOutcome outcome, unsigned status, std::string_view finish);

  Embeddings& all_;
  const std::shared_ptr<Exchange> exchange_;
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
  std::shared_ptr<PiecedReply> reply_;

  std::atomic<bool> ended_{false};  // all threads ask: nobody waits for it any more
};

}  // namespace hearth
