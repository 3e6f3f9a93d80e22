#include "server/request_worker.h"

#include <utility>

namespace hearth {

RequestWorker::RequestWorker() : thread_([this] { work(); }) {}

void RequestWorker::end() {
  std::deque<std::function<void()>> dropped;  // dies without the lock
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    dropped.swap(tasks_);
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void RequestWorker::post(std::function<void()> task) {
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return;
    tasks_.push_back(std::move(task));
  }
  changed_.notify_one();
}

void RequestWorker::work() {
  for (;;) {
    std::function<void()> task;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopping_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

}  // namespace hearth
