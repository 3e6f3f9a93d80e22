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
  // Does what has been posted first.
  ~RequestWorker();
  RequestWorker(const RequestWorker&) = delete;
  RequestWorker& operator=(const RequestWorker&) = delete;

  void post(std::function<void()> task);

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace hearth
