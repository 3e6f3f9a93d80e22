// A Job is a request under way, shared by its client and the engine. It holds memory for the last
// result of every choice, so that each gets one even if memory has run out.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <string_view>

#include "engine/request.h"
#include "engine/result_stream.h"

namespace hearth {

class Job {
 public:
  Job(uint64_t id, Request request, std::shared_ptr<ResultStream> stream)
      : id_(id),
        request_(std::move(request)),
        stream_(std::move(stream)),
        ends_(request_.choices) {}

  uint64_t id() const { return id_; }
  const Request& request() const { return request_; }
  ResultStream& stream() const { return *stream_; }

  void cancel() const { cancelled_.store(true, std::memory_order_relaxed); }
  // Delivers the last result of a choice: `result`, with this finish and error. Called by the
  // engine's thread.
  void end(Result result, Finish finish, std::string_view error) noexcept;
  // Returns whether its results are no longer wanted.
  bool gone() const { return cancelled_.load(std::memory_order_relaxed) || stream_->closed(); }

 private:
  const uint64_t id_;
  const Request request_;
  const std::shared_ptr<ResultStream> stream_;
  mutable std::atomic<bool> cancelled_{false};
  std::list<Result> ends_;  // last results of choices that have not ended yet
};

}  // namespace hearth
