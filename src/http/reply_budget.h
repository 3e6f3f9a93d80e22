// ReplyBudget: the limit in bytes on all replies under way, of all routes. It counts the data that
// replies are made from, and the bytes of replies that wait for clients.
#pragma once

#include <atomic>
#include <cstdint>

namespace hearth {

// Any thread may use a ReplyBudget.
class ReplyBudget {
 public:
  explicit ReplyBudget(uint64_t bytes) : bytes_(bytes) {}

  // Takes bytes; returns false and takes nothing if there is no room for them.
  bool take(uint64_t bytes) {
    uint64_t used = used_;
    do {
      if (used > bytes_ || bytes > bytes_ - used) return false;
    } while (!used_.compare_exchange_weak(used, used + bytes));
    return true;
  }
  // Counts bytes that are already in memory, even beyond the limit.
  void add(uint64_t bytes) { used_ += bytes; }
  void give(uint64_t bytes) { used_ -= bytes; }
  bool full() const { return used_ >= bytes_; }
  uint64_t used() const { return used_; }

 private:
  const uint64_t bytes_;
  std::atomic<uint64_t> used_ = 0;
};

}  // namespace hearth
