#include "server/pull_line.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace hearth {

PullLine::~PullLine() {
  end();
  {
    std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool PullLine::post(Stop stop, std::function<void()> pull) {
  {
    std::lock_guard lock(mutex_);
    if (tasks_.size() > kMaxWaiting) return false;
    if (!thread_.joinable()) start();
    if (ending_) *stop = true;
    tasks_.push_back({std::move(stop), std::move(pull)});
  }
  changed_.notify_all();
  return true;
}

void PullLine::start() {
  try {
    thread_ = std::thread([this] { work(); });
  } catch (const std::system_error&) {
    fail(ErrorCode::kResource,
         "the server cannot start a thread to pull models: raise its limit (ulimit -u, or the "
         "cgroup's pids.max)");
  }
}

void PullLine::leave(const Stop& stop) noexcept {
  *stop = true;
  Task left;  // the task's objects are destroyed after the lock is released
  {
    std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(tasks_, stop, &Task::stop);
    if (found == tasks_.end() || found->pull == nullptr) return;
    left = std::move(*found);
    tasks_.erase(found);
  }
  changed_.notify_all();
}

void PullLine::end() noexcept {
  std::lock_guard lock(mutex_);
  ending_ = true;
  for (const Task& task : tasks_) *task.stop = true;
}

bool PullLine::end_within(double seconds) {
  end();
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                           [this] { return tasks_.empty(); });
}

void PullLine::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return over_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    std::function<void()> pull = std::exchange(tasks_.front().pull, nullptr);
    lock.unlock();
    pull();
    pull = nullptr;  // destroys the pull's objects without the lock
    lock.lock();
    tasks_.pop_front();
    changed_.notify_all();
  }
}

}  // namespace hearth
