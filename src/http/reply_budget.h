// ReplyBudget: how many bytes all replies under way may take, whatever route they belong to. What a
// reply is made of counts, and what of it waits for its client.
#pragma once

#include <atomic>
#include <cstdint>

namespace hearth {

// Any thread may use it.
class ReplyBudget {
 public:
  explicit ReplyBudget(uint64_t bytes) : bytes_(bytes) {}

  // False, and nothing taken, where they are too many.
  bool take(uint64_t bytes) {
    uint64_t used = used_;
    do {
      if (used > bytes_ || bytes > bytes_ - used) return false;
    } while (!used_.compare_exchange_weak(used, used + bytes));
    return true;
  }
  // Counts what is there already, however many they are.
  void add(uint64_t bytes) { used_ += bytes; }
  void give(uint64_t bytes) { used_ -= bytes; }
  bool full() const { return used_ >= bytes_; }
  uint64_t used() const { return used_; }

 private:
  const uint64_t bytes_;
  std::atomic<uint64_t> used_ = 0;
};

}  // namespace hearth
