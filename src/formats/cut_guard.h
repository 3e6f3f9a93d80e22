// CutGuard guards maps of files that another process may truncate while they are read. Touching a
// page beyond the new end raises SIGBUS, which would end the process. For a guarded range the
// handler maps zeros in place of the missing pages and notes it: the reader goes on, and asks
// was_cut() when it is done. A read that fails on the disk is handled in the same way.
//
// Every other SIGBUS has the effect that it had before the first range was guarded. Thread-safe.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

namespace hearth {

struct GuardedRange;  // an entry of the handler's list

class CutGuard {
 public:
  CutGuard() = default;
  // `mapped` is a whole private map, which outlives the object.
  explicit CutGuard(std::span<const std::byte> mapped);
  CutGuard(CutGuard&& other) noexcept : range_(std::exchange(other.range_, nullptr)) {}
  CutGuard& operator=(CutGuard&& other) noexcept {
    std::swap(range_, other.range_);
    return *this;
  }
  ~CutGuard();

  // Returns whether zeros stood in for missing bytes that were read.
  bool was_cut() const;

 private:
  GuardedRange* range_ = nullptr;
};

}  // namespace hearth
