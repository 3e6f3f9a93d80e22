// The signals of a terminal as something to wait for beside other descriptors: while the object
// lives, Ctrl-C, Ctrl-Z, a new size of the window and what ends a program do nothing by themselves
// and come out of fd(). They are blocked for the thread that makes the object and for those that it
// starts, so it is made before other threads are. What the process was told to ignore stays
// ignored, as Ctrl-C is for a job in a script's background. Linux (signalfd).
#pragma once

#include <csignal>

namespace hearth {

class TerminalSignals {
 public:
  // Errors (kResource): the system gives no descriptor.
  TerminalSignals();
  ~TerminalSignals();
  TerminalSignals(const TerminalSignals&) = delete;
  TerminalSignals& operator=(const TerminalSignals&) = delete;

  // Readable once a signal came.
  int fd() const { return fd_; }
  // Returns the next signal that came; 0 where none did.
  int next() const;

  // Whether a signal is one that ends the program.
  static bool ends(int signal);
  // Stops the process, as Ctrl-Z does others, and returns once it goes on.
  static void stop_process();
  // Ends the process as the signal would have. The terminal is in order again before.
  [[noreturn]] static void die_of(int signal);

 private:
  sigset_t before_{};
  int fd_ = -1;
};

}  // namespace hearth
