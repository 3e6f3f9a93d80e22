// StepTurns: engines of one process that share cores compute in turns, never at the same time,
// since two teams on one core would wait for each other at every barrier. A turn lasts for one
// step, and for later steps that begin within kTurnSeconds, since changing engines costs as much as
// a short step takes. Turns are given in the order of asking, so an engine waits for at most one
// turn of each of the others. A waiting engine sleeps, and an engine with nothing to compute asks
// for no turn.
//
//   StepTurns::Place place(turns);  // of one engine; null: it is the only one
//   for (;;) {
//     const std::optional<double> waited = place.begin_step();
//     ...                           // a step
//     place.end_step();
//     if (idle) place.end_turn();
//   }
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>

#include "base/clock.h"

namespace hearth {

class StepTurns {
 public:
  // This is a fifth of what a reader sees as a pause, and many times what changing engines costs.
  static constexpr double kTurnSeconds = 0.01;

  StepTurns() = default;
  StepTurns(const StepTurns&) = delete;
  StepTurns& operator=(const StepTurns&) = delete;

  // The place of one engine among those that take turns. Only the engine's thread uses it. Its
  // destructor ends the engine's turn.
  class Place {
   public:
    explicit Place(StepTurns* turns) : turns_(turns) {}
    ~Place() { end_turn(); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    // Takes the cores if a turn begins with this step, and returns the seconds that it waited for
    // them.
    std::optional<double> begin_step() {
      if (turns_ == nullptr || has_turn_) return std::nullopt;
      const double asked = steady_seconds();
      turns_->take();
      has_turn_ = true;
      begun_ = steady_seconds();
      return begun_ - asked;
    }
    void end_step() {
      if (has_turn_ && steady_seconds() - begun_ >= kTurnSeconds) end_turn();
    }
    void end_turn() {
      if (has_turn_) turns_->give();
      has_turn_ = false;
    }

   private:
    StepTurns* const turns_;
    bool has_turn_ = false;
    double begun_ = 0;
  };

  // Returns how many engines wait now.
  size_t waiting() {
    std::lock_guard lock(mutex_);
    return queue_.size();
  }

 private:
  // A sleeping engine; each one is woken by itself.
  struct Waiter {
    std::condition_variable called;
    bool has_turn = false;
  };

  void take() {
    std::unique_lock lock(mutex_);
    if (!taken_) {
      taken_ = true;
      return;
    }
    Waiter own;
    queue_.push_back(&own);
    own.called.wait(lock, [&] { return own.has_turn; });
  }
  void give() {
    // The lock is held until the waiter is notified: afterwards the waiter may be destroyed.
    std::lock_guard lock(mutex_);
    if (queue_.empty()) {
      taken_ = false;
      return;
    }
    Waiter& next = *queue_.front();
    queue_.pop_front();
    next.has_turn = true;
    next.called.notify_one();
  }

  std::mutex mutex_;
  bool taken_ = false;
  std::deque<Waiter*> queue_;  // in the order in which they asked
};

}  // namespace hearth
