// Pace lets long work yield its thread. The work calls did() with its progress, in units of about a
// byte of text that becomes tokens. After every kUnits, which take some milliseconds, did() calls
// `pause`. `pause` returns when the work may go on, and throws if the result is not wanted any
// more. A Pace without a pause never yields. Used by one thread at a time.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>

namespace hearth {

class Pace {
 public:
  static constexpr size_t kUnits = size_t{16} << 10;  // between two pauses

  Pace() = default;
  explicit Pace(std::function<void()> pause) : pause_(std::move(pause)) {}

  void did(size_t units) {
    if (units < left_) {
      left_ -= units;
    } else {
      rest();
    }
  }

 private:
  void rest() {
    left_ = kUnits;
    if (pause_) pause_();
  }

  std::function<void()> pause_;
  size_t left_ = kUnits;
};

}  // namespace hearth
