// Interrupts: Ctrl-C as a question that a loop asks, not as an end at any point. While the object
// lives, SIGINT is held back from the thread that made it and from the threads which that starts
// afterwards; received() tells whether one came. After the first, the signal has its usual effect
// again: a second Ctrl-C ends the process at once.
#pragma once

#include <csignal>

namespace hearth {

class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  bool received();
  // Ends the process by the signal, as if nothing held it back, where one came. For times when
  // there is nothing to lose yet.
  void die_if_received();

 private:
  sigset_t before_;
  bool received_ = false;
};

// A shell reports this status for a program that SIGINT ended: 128 + 2.
inline constexpr int kInterruptedStatus = 130;

}  // namespace hearth
