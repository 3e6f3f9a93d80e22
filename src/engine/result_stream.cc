#include "engine/result_stream.h"

#include "base/check.h"

namespace hearth {

std::optional<Result> ResultStream::pop(std::chrono::milliseconds timeout) {
  std::optional<Result> result;
  std::shared_ptr<const std::function<void()>> notify;
  {
    std::unique_lock lock(mutex_);
    arrived_.wait_for(lock, timeout, [&] { return !results_.empty() || closed_; });
    if (results_.empty()) return result;
    result = std::move(results_.front());
    results_.pop_front();
    if (room_wanted_) notify = on_room_;
    room_wanted_ = false;
  }
  if (notify) (*notify)();
  return result;
}

void ResultStream::close() {
  std::shared_ptr<const std::function<void()>> notify,
      dropped;  // destroyed after the lock is let go
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
    results_.clear();
    notify = on_room_;
    dropped = std::move(on_results_);
  }
  arrived_.notify_all();
  if (notify) (*notify)();
}

bool ResultStream::closed() const {
  std::lock_guard lock(mutex_);
  return closed_;
}

bool ResultStream::fits(uint32_t count) {
  bool fits = results_.size() + reserved_ + count <= capacity_;
  if (!fits) room_wanted_ = true;
  return fits;
}

bool ResultStream::reserve(uint32_t count) {
  std::lock_guard lock(mutex_);
  if (!fits(count)) return false;
  reserved_ += count;
  return true;
}

bool ResultStream::has_room(uint32_t count) {
  std::lock_guard lock(mutex_);
  return fits(count);
}

void ResultStream::unreserve(uint32_t count) {
  std::lock_guard lock(mutex_);
  HEARTH_CHECK(reserved_ >= count, "room was set aside");
  reserved_ -= count;
}

void ResultStream::push_reserved(Result result) {
  {
    std::lock_guard lock(mutex_);
    HEARTH_CHECK(reserved_ > 0, "room was set aside");
    if (!closed_) {
      results_.push_back(std::move(result));
      unnotified_ = true;
    }
    --reserved_;
  }
  arrived_.notify_one();
}

void ResultStream::push_final(std::list<Result> end) noexcept {
  {
    std::lock_guard lock(mutex_);
    if (closed_) return;
    results_.splice(results_.end(), end);
    unnotified_ = true;
  }
  arrived_.notify_one();
}

PromptRead ResultStream::read() const {
  std::lock_guard lock(mutex_);
  return read_;
}

void ResultStream::add_read(const PromptRead& more) {
  std::lock_guard lock(mutex_);
  read_ = {read_.tokens + more.tokens, read_.cached + more.cached,
           std::max(read_.seconds, more.seconds)};
  unnotified_ = !closed_;
}

void ResultStream::notify_results() noexcept {
  std::shared_ptr<const std::function<void()>> notify;
  {
    std::lock_guard lock(mutex_);
    if (unnotified_) notify = on_results_;
    unnotified_ = false;
  }
  if (notify) (*notify)();
}

namespace {

std::shared_ptr<const std::function<void()>> shared_call(std::function<void()> call) {
  if (!call) return {};
  return std::make_shared<const std::function<void()>>(std::move(call));
}

}  // namespace

void ResultStream::set_on_results(std::function<void()> on_results) {
  std::shared_ptr<const std::function<void()>> shared = shared_call(std::move(on_results));
  std::lock_guard lock(mutex_);
  on_results_.swap(shared);
}

void ResultStream::set_on_room(std::function<void()> on_room) {
  std::shared_ptr<const std::function<void()>> shared = shared_call(std::move(on_room));
  std::lock_guard lock(mutex_);
  on_room_.swap(shared);
}

}  // namespace hearth
