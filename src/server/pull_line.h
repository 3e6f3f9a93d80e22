// PullLine: a thread on which clients' models are pulled, one after another. The connection to a
// hub is what limits them, so two at a time would end no sooner.
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
  static constexpr size_t kMostWaiting = 16;

  PullLine() = default;
  ~PullLine();  // ends, and waits for the thread
  PullLine(const PullLine&) = delete;
  PullLine& operator=(const PullLine&) = delete;

  // A pull, which throws nothing, and what tells it to come to its end.
  using Stop = std::shared_ptr<std::atomic<bool>>;
  // False where too many wait. The thread begins with the first. Throws Error (kResource) where
  // there is none to be had.
  bool post(Stop stop, std::function<void()> pull);
  // Tells this pull to come to its end. One that waits leaves the line, and is never called.
  void leave(const Stop& stop) noexcept;
  // Tells all to come to their end, also those that are posted later; each is called all the same.
  void end() noexcept;
  // Ends the line, and waits for so many seconds at most. Returns whether all pulls have come to
  // their end.
  bool end_within(double seconds);

 private:
  struct Task {
    Stop stop;
    std::function<void()> pull;  // null: it is under way
  };

  void start();
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  bool ending_ = false;  // all are told to end
  bool over_ = false;    // none comes any more
  std::thread thread_;
};

}  // namespace hearth
