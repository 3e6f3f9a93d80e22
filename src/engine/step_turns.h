// StepTurns: engines of one process that work on the same cores compute in turns, a step each,
// never at the same time: two teams on one core would wait for each other at every barrier. Turns
// are given in the order in which they are asked for, so an engine waits for one step of each of
// the others at most. Who waits sleeps, and who has nothing to compute asks for none.
//
//   const StepTurns::Turn turn(turns);  // waits; null: there is nobody to share with
//   scheduler.step(turn.waited());
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "base/clock.h"

namespace hearth {

class StepTurns {
 public:
  StepTurns() = default;
  StepTurns(const StepTurns&) = delete;
  StepTurns& operator=(const StepTurns&) = delete;

  class Turn {
   public:
    explicit Turn(StepTurns* turns) : turns_(turns) {
      if (turns_ == nullptr) return;
      const double start = steady_seconds();
      turns_->take();
      waited_ = steady_seconds() - start;
    }
    ~Turn() {
      if (turns_ != nullptr) turns_->give();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    double waited() const { return waited_; }  // seconds

   private:
    StepTurns* const turns_;
    double waited_ = 0;
  };

  // Who waits now.
  uint64_t waiting() {
    std::lock_guard lock(mutex_);
    return next_ > serving_ ? next_ - serving_ - 1 : 0;
  }

 private:
  void take() {
    std::unique_lock lock(mutex_);
    const uint64_t own = next_++;
    changed_.wait(lock, [&] { return serving_ == own; });
  }
  void give() {
    {
      std::lock_guard lock(mutex_);
      ++serving_;
    }
    // Engines are few, so all may look.
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t next_ = 0, serving_ = 0;
};

}  // namespace hearth
