// RequestWorker: runs tasks that would hold up the reactor, one at a time: reading bodies,
// rendering templates, tokenising, writing large answers. A task handles its own errors where it
// can. An exception that a task does not handle (memory is short, say) ends only that task, and
// fall_short() is called for the task's exchange.
//
// A long task calls its Pace, which passes the turn to the task that has waited longest, be it new
// or interrupted. So a small task behind large ones waits for a slice of each, some milliseconds,
// and not for their ends. An interrupted task keeps its thread. There are kMaxThreads; when all
// are taken a new task waits for one to end.
//
// A large body may take up to 27 times its bytes (for one endless word, in the tokenizer). So tasks
// with bodies of kLargeBody or more wait while kMaxLargeTasks of them have begun, whoever sent
// them; smaller tasks overtake them.
//
// A pause throws RequestError (503 `draining`) to end its task, if the worker ends or no client
// waits for the task any more.
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
  static constexpr size_t kMaxThreads = 32, kMaxLargeTasks = 2;
  static constexpr uint64_t kLargeBody = uint64_t{1} << 20;

  // `on_trouble` gets the exceptions that tasks did not handle; it must not throw.
  using OnTrouble = std::function<void(const std::exception&)>;
  explicit RequestWorker(OnTrouble on_trouble = [](const std::exception&) {});
  ~RequestWorker();  // waits for the tasks under way
  RequestWorker(const RequestWorker&) = delete;
  RequestWorker& operator=(const RequestWorker&) = delete;

  // Adds a task; after end() it is dropped. `about`: the exchange whose fall_short() is called if
  // the task throws, or null. `body_bytes`: the size of the body that the task reads.
  void post(std::function<void()> task, std::shared_ptr<Exchange> about = nullptr,
            uint64_t body_bytes = 0);
  // Returns the Pace of the task under way, to be called within it. `ended` turns true when no
  // client waits for the task any more; it and the worker outlive the pace.
  Pace pace(const std::atomic<bool>& ended);
  // Drops the tasks that have not begun, and ends the others at their next pause. Returns false if
  // one has not ended within so many seconds.
  bool end(double seconds);

 private:
  struct Task {
    uint64_t ticket;
    std::function<void()> call;
    std::shared_ptr<Exchange> about;
    bool large;
  };
  // An interrupted task, which waits for its turn.
  struct Paused {
    uint64_t ticket;
    bool its_turn = false;
    std::condition_variable turn;
  };

  void work();
  void run(Task task) noexcept;
  void give_turn();
  // Passes the turn on. The thread that has the turn calls this with the mutex held.
  void pass_on();
  // Returns the queue with the task to begin next; null where none may begin. The caller holds the
  // mutex.
  std::deque<Task>* next_queue();
  bool start_thread();

  const OnTrouble on_trouble_;
  std::mutex mutex_;
  std::condition_variable changed_;  // wakes threads without a task, and end()
  std::deque<Task> small_, large_;   // in the order of tickets, as is `paused_`
  std::vector<Paused*> paused_;
  uint64_t next_ticket_ = 0;
  bool free_ = true;  // no task has the turn: a thread without a task takes it
  bool stopping_ = false;
  size_t large_begun_ = 0;
  size_t idle_ = 0;     // threads without a task
  size_t running_ = 0;  // threads that have not ended
  std::vector<std::thread> threads_;
};

}  // namespace hearth
