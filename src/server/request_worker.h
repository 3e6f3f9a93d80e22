// RequestWorker: one thread that does tasks in the order they came: reading bodies, rendering
// templates, making tokens and large answers, which would hold up the reactor. A task handles its
// own errors.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace hearth {

class RequestWorker {
 public:
  RequestWorker();
  ~RequestWorker() { end(); }
  RequestWorker(const RequestWorker&) = delete;
  RequestWorker& operator=(const RequestWorker&) = delete;

  // Nothing after end().
  void post(std::function<void()> task);
  // Waits for the task under way and drops the others.
  void end();

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace hearth
