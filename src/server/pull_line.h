// PullLine: a thread that runs clients' pulls of models one after another. The connection to the
// hub is the limit, so two at a time would end no sooner.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace hearth {

class PullLine {
 public:
  static constexpr size_t kMaxWaiting = 16;

  PullLine() = default;
  ~PullLine();  // calls end(), and joins the thread
  PullLine(const PullLine&) = delete;
  PullLine& operator=(const PullLine&) = delete;

  // The flag that tells a pull to stop.
  using Stop = std::shared_ptr<std::atomic<bool>>;
  // Adds a pull, which must not throw; false where too many wait. The first one starts the thread.
  // Throws Error (kResource) where that fails.
  bool post(Stop stop, std::function<void()> pull);
  // Tells this pull to stop. One that still waits is removed and never called.
  void leave(const Stop& stop) noexcept;
  // Tells all pulls to stop, also those posted later. Each is still called.
  void end() noexcept;
  // Calls end(), and waits up to so many seconds. Returns whether all pulls have returned.
  bool end_within(double seconds);

 private:
  struct Task {
    Stop stop;
    std::function<void()> pull;  // null: it is running
  };

  void start();
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  bool ending_ = false;  // all pulls are told to stop
  bool over_ = false;    // no more pulls follow
  std::thread thread_;
};

}  // namespace hearth
