// Interrupts lets a loop poll for Ctrl-C. While the object lives, the first SIGINT only makes
// received() true. From then on the signal has its usual effect again: a second Ctrl-C ends the
// process at once, even where all threads are blocked, for example writing to a full pipe. One
// object lives at a time; thread-safe.
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
  // Ends the process by SIGINT if that signal was received. Call it only while there are no results
  // to lose.
  void die_if_received() const;

 private:
  struct sigaction before_ {};
};

// The interval at which a waiting loop checks for Ctrl-C and updates its progress line.
inline constexpr std::chrono::milliseconds kLookUp(50);

// The exit status that shells report for a program that SIGINT ended: 128 + 2.
inline constexpr int kInterruptedStatus = 130;

}  // namespace hearth
