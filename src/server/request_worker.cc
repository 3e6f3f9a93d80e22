#include "server/request_worker.h"

#include <malloc.h>

#include <chrono>
#include <system_error>
#include <utility>

#include "server/request_error.h"

namespace hearth {
namespace {

[[noreturn]] void throw_ended() {
  throw RequestError(ApiError{
      503, "", "draining", "the server was shut down before this answer was complete", {}, {}});
}

}  // namespace

RequestWorker::RequestWorker(OnTrouble on_trouble) : on_trouble_(std::move(on_trouble)) {
  threads_.reserve(kMaxThreads);
  paused_.reserve(kMaxThreads);
  running_ = idle_ = 1;
  threads_.emplace_back([this] { work(); });
}

RequestWorker::~RequestWorker() {
  end(0);
  for (std::thread& thread : threads_) thread.join();
}

bool RequestWorker::end(double seconds) {
  std::deque<Task> small, large;  // destroyed without the lock
  std::unique_lock lock(mutex_);
  stopping_ = true;
  small.swap(small_);
  large.swap(large_);
  changed_.notify_all();
  for (Paused* paused : paused_) paused->turn.notify_one();
  return changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                           [&] { return running_ == 0; });
}

void RequestWorker::post(std::function<void()> task, std::shared_ptr<Exchange> about,
                         uint64_t body_bytes) {
  const bool large = body_bytes >= kLargeBody;
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return;
    (large ? large_ : small_).push_back({next_ticket_++, std::move(task), std::move(about), large});
  }
  changed_.notify_one();
}

Pace RequestWorker::pace(const std::atomic<bool>& ended) {
  return Pace([this, &ended] {
    if (ended) throw_ended();
    give_turn();
    if (ended) throw_ended();
  });
}

void RequestWorker::give_turn() {
  std::unique_lock lock(mutex_);
  if (stopping_) throw_ended();
  if (next_queue() == nullptr && paused_.empty()) return;
  Paused self{next_ticket_++, false, {}};
  paused_.push_back(&self);
  pass_on();
  self.turn.wait(lock, [&] { return self.its_turn || stopping_; });
  if (self.its_turn) return;
  std::erase(paused_, &self);
  throw_ended();
}

std::deque<RequestWorker::Task>* RequestWorker::next_queue() {
  const bool may_large = !large_.empty() && large_begun_ < kMaxLargeTasks;
  if (small_.empty()) return may_large ? &large_ : nullptr;
  return may_large && large_.front().ticket < small_.front().ticket ? &large_ : &small_;
}

void RequestWorker::pass_on() {
  const std::deque<Task>* next_tasks = next_queue();
  bool begin = next_tasks != nullptr &&
               (paused_.empty() || next_tasks->front().ticket < paused_.front()->ticket) &&
               (idle_ > 0 || start_thread());
  if (begin || paused_.empty()) {
    free_ = true;
    changed_.notify_one();
    return;
  }
  Paused& next = *paused_.front();
  paused_.erase(paused_.begin());
  next.its_turn = true;
  next.turn.notify_one();
}

bool RequestWorker::start_thread() {
  if (threads_.size() == kMaxThreads) return false;
  try {
    threads_.emplace_back([this] { work(); });
  } catch (const std::exception&) {
    // No thread could be started, so the task waits for a running one.
    return false;
  }
  ++running_;
  ++idle_;
  return true;
}

void RequestWorker::run(Task task) noexcept {
  try {
    task.call();
  } catch (const std::exception& thrown) {
    on_trouble_(thrown);
    if (task.about) task.about->fall_short();
  }
}

void RequestWorker::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || (free_ && next_queue() != nullptr); });
    if (stopping_) break;
    std::deque<Task>& queue = *next_queue();
    Task task = std::move(queue.front());
    queue.pop_front();
    if (task.large) ++large_begun_;
    free_ = false;
    --idle_;
    lock.unlock();
    const bool large = task.large;
    run(std::move(task));  // destroys it without the lock
    // A thread's heap keeps freed memory, and the next large body may be another thread's: return
    // it to the system.
    if (large) malloc_trim(0);
    lock.lock();
    ++idle_;
    if (large) --large_begun_;
    pass_on();
  }
  --running_;
  lock.unlock();
  changed_.notify_all();
}

}  // namespace hearth
