// A JobHandle stands for a request under way and cancels it when it dies, unless the request has
// ended.
//
// The handle may be used and die on any thread, but only one thread at a time may use it. It keeps
// neither the request nor its stream alive, so a stream's callback may own it.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

namespace hearth {

class JobHandle {
 public:
  JobHandle() = default;  // stands for no request
  // `cancel` is called once at most and must not throw; it does nothing where the request has
  // ended.
  JobHandle(uint64_t id, std::function<void()> cancel) : id_(id), cancel_(std::move(cancel)) {}
  ~JobHandle() { cancel(); }
  JobHandle(JobHandle&& other) noexcept
      : id_(other.id_), cancel_(std::exchange(other.cancel_, nullptr)) {}
  // Cancels the job for which this handle stood before.
  JobHandle& operator=(JobHandle&& other) noexcept {
    JobHandle old = std::move(*this);
    id_ = other.id_;
    cancel_ = std::exchange(other.cancel_, nullptr);
    return *this;
  }

  // Returns the number that its results carry too (Result::request).
  uint64_t id() const { return id_; }
  void cancel() {
    if (auto cancel = std::exchange(cancel_, nullptr)) cancel();
  }

 private:
  uint64_t id_ = 0;
  std::function<void()> cancel_;
};

}  // namespace hearth
