// Termination: SIGTERM and Ctrl-C as something to wait for, for a program that serves others. The
// first of either only lets wait() return; from then on both have their usual effect, so that a
// second one ends the process at once. SIGHUP asks to read again what the program was told; where
// it comes since a terminal is gone that the program was started at, it means an end, too. One
// object lives at a time.
#pragma once

#include <csignal>

namespace hearth {

class Termination {
 public:
  // Throws (kResource) where the system gives no descriptor.
  Termination();
  ~Termination();
  Termination(const Termination&) = delete;
  Termination& operator=(const Termination&) = delete;

  enum class Wish { kEnd, kReadAgain };
  // Returns once a signal came.
  Wish wait() const;

 private:
  int reader_ = -1;
  bool at_terminal_ = false;
  struct sigaction interrupt_before_ {
  }, terminate_before_{}, hangup_before_{};
};

}  // namespace hearth
