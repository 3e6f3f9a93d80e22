// Termination: waits for SIGTERM and Ctrl-C, for a server. The first of either makes wait() return;
// from then on both have their usual effect, so a second one ends the process at once. SIGHUP asks
// to read the configuration again; if it comes because the terminal closed, it asks for the end,
// too. One object lives at a time.
#pragma once

#include <csignal>

namespace hearth {

class Termination {
 public:
  // Throws (kResource) where no pipe can be made.
  Termination();
  ~Termination();
  Termination(const Termination&) = delete;
  Termination& operator=(const Termination&) = delete;

  enum class Wish { kEnd, kReadAgain };
  // Waits for a signal and returns what it asks for.
  Wish wait() const;

 private:
  int reader_ = -1;
  bool at_terminal_ = false;
  struct sigaction interrupt_before_ {
  }, terminate_before_{}, hangup_before_{};
};

}  // namespace hearth
