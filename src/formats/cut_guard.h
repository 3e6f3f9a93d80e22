// Guarded ranges: maps of files that somebody else may cut short while they are read. Touching what
// was cut off is a SIGBUS, which would end the process. For a guarded range the handler puts zeros
// in the place of what is gone, and notes it: the reader goes on, and asks was_cut() when it is
// done. So does a disk that fails under a read.
//
// Every other SIGBUS has the effect that it had before the first range was guarded. Any thread.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

namespace hearth {

struct GuardedRange;  // an entry of the handler's list

class CutGuard {
 public:
  CutGuard() = default;
  // `mapped`: whole, private maps, which outlive the object.
  explicit CutGuard(std::span<const std::byte> mapped);
  CutGuard(CutGuard&& other) noexcept : range_(std::exchange(other.range_, nullptr)) {}
  CutGuard& operator=(CutGuard&& other) noexcept {
    std::swap(range_, other.range_);
    return *this;
  }
  ~CutGuard();

  // Whether bytes that were read were gone.
  bool was_cut() const;

 private:
  GuardedRange* range_ = nullptr;
};

}  // namespace hearth
