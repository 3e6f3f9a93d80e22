// PullStop: Ctrl-C while a model is fetched. The first one lets the fetch come to an end that keeps
// what came; end() then ends the process by the signal.
#pragma once

#include <atomic>
#include <thread>

#include "cli/interrupts.h"
#include "store/pull.h"

namespace hearth {

class PullStop {
 public:
  PullStop()
      : watcher_([this] {
          while (!over_) {
            if (interrupts_.received()) stop_ = true;
            std::this_thread::sleep_for(kLookUp);
          }
        }) {}
  ~PullStop() { finish(); }
  PullStop(const PullStop&) = delete;
  PullStop& operator=(const PullStop&) = delete;

  const std::atomic<bool>& stop() const { return stop_; }
  // After the fetch, which was stopped where it is not `whole`.
  void end(bool whole);

 private:
  void finish() {
    over_ = true;
    if (watcher_.joinable()) watcher_.join();
  }

  Interrupts interrupts_;
  std::atomic<bool> stop_{false}, over_{false};
  std::thread watcher_;
};

// pull_model() that Ctrl-C stops: what came is kept then, and the process ends by the signal.
PulledModel pull_until_stopped(const StorePlaces& places, const HubName& name,
                               const PullOptions& options, const PullListener& listener);

}  // namespace hearth
