// RequestWorker: does tasks, one at a time and by turns: reading bodies, rendering templates,
// making tokens and large answers, which would hold up the reactor. A task handles its own errors
// as far as it can; what it throws all the same, as where memory is short, ends it alone, and the
// exchange that it is about falls short.
//
// A task that takes long asks its Pace, which gives the turn to who waits longest: a task that has
// not begun, or one that was interrupted. So a small task behind large ones waits for a slice of
// each, some milliseconds, and not for their ends. An interrupted task keeps its thread, of which
// there are kMostThreads; where all have one, a new task waits for one of them to end.
//
// What is made of a large body takes many times its bytes: up to 27 for each where the tokenizer
// looks at one endless word. So tasks of bodies of kLargeBody and more wait while kMostLarge of
// them have begun, whoever's they are; smaller ones pass them.
//
// What a task throws to end it, where the worker ends or nobody waits for it any more, is a
// RequestError: 503 `draining`.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/pace.h"
#include "http/exchange.h"

namespace hearth {

class RequestWorker {
 public:
  static constexpr size_t kMostThreads = 32, kMostLarge = 2;
  static constexpr uint64_t kLargeBody = uint64_t{1} << 20;

  // `on_trouble` is told what a task threw that it did not handle; it throws nothing.
  using OnTrouble = std::function<void(const std::exception&)>;
  explicit RequestWorker(OnTrouble on_trouble = [](const std::exception&) {});
  ~RequestWorker();  // waits for the tasks under way
  RequestWorker(const RequestWorker&) = delete;
  RequestWorker& operator=(const RequestWorker&) = delete;

  // Nothing after end(). `about` falls short where `task` throws; null: there is none. The task
  // reads a body of so many bytes.
  void post(std::function<void()> task, std::shared_ptr<Exchange> about = nullptr,
            uint64_t body_bytes = 0);
  // Returns the pace for what a task does; to be called within it. `ended`: nobody waits for the
  // task; both outlive the pace.
  Pace pace(const std::atomic<bool>& ended);
  // Drops the tasks that have not begun, and ends the others at their next pause. False where one
  // has come to none within so many seconds.
  bool end(double seconds);

 private:
  struct Task {
    uint64_t ticket;
    std::function<void()> call;
    std::shared_ptr<Exchange> about;
    bool large;
  };
  // A task that waits for its next turn.
  struct Paused {
    uint64_t ticket;
    bool its_turn = false;
    std::condition_variable turn;
  };

  void work();
  void run(Task task) noexcept;
  void give_turn();
  // The thread that had the turn calls this and holds the mutex.
  void pass_on();
  // Returns the queue whose first task begins next; null where none may. The caller holds the
  // mutex.
  std::deque<Task>* next_queue();
  bool start_thread();

  const OnTrouble on_trouble_;
  std::mutex mutex_;
  std::condition_variable changed_;  // for threads without a task, and end()
  std::deque<Task> small_, large_;   // these and the next by their tickets
  std::vector<Paused*> paused_;
  uint64_t next_ticket_ = 0;
  bool free_ = true;  // nobody has the turn; a thread without a task takes it
  bool stopping_ = false;
  size_t large_begun_ = 0;
  size_t idle_ = 0;     // threads without a task
  size_t running_ = 0;  // threads that have not ended
  std::vector<std::thread> threads_;
};

}  // namespace hearth
