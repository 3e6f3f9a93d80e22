// Helpers that tests of streamed prompts share.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>

namespace hearth {

// Returns whether to draw many more shapes, prompts and texts (HEARTH_ALL_STREAMS in the
// environment).
inline bool all_streams() { return std::getenv("HEARTH_ALL_STREAMS") != nullptr; }

// Counts the events that another thread reports, so that a test can wait for them.
class Notices {
 public:
  void notify() {
    ++count_;
    count_.notify_all();
  }
  uint64_t count() const { return count_; }
  // Waits until the count is at least `count`.
  void wait_for(uint64_t count) const {
    for (uint64_t seen = count_; seen < count; seen = count_) count_.wait(seen);
  }

 private:
  std::atomic<uint64_t> count_ = 0;
};

}  // namespace hearth
