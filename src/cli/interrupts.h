// Interrupts: Ctrl-C as a question that a loop asks, not as an end at any point. While the object
// lives, the first SIGINT only lets received() tell that one came. From then on the signal has its
// usual effect again: a second Ctrl-C ends the process at once, also where all threads wait, such
// as for somebody to read what is printed. One object lives at a time; any thread may ask it.
#pragma once

#include <chrono>
#include <csignal>

namespace hearth {

class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  bool received() const;
  // Ends the process by the signal where one came. For times when there is nothing to lose yet.
  void die_if_received() const;

 private:
  struct sigaction before_ {};
};

// A loop that waits for its work looks up so often: for Ctrl-C and its progress line.
inline constexpr std::chrono::milliseconds kLookUp(50);

// A shell reports this status for a program that SIGINT ended: 128 + 2.
inline constexpr int kInterruptedStatus = 130;

}  // namespace hearth
