// TerminalSignals: the signals of a terminal, to be waited for together with other descriptors.
// While the object lives, Ctrl-C, Ctrl-Z, changes of the window's size and signals that end a
// program have no effect of their own and are read from fd(). They are blocked in the thread that
// makes the object and in those that it starts later, so make it before other threads. Signals that
// the process ignores stay ignored, such as Ctrl-C in a script's background job. Linux only
// (signalfd).
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

  // Returns a descriptor that is readable when a signal has come.
  int fd() const { return fd_; }
  // Returns the next signal that has come; 0 where none has.
  int next() const;

  // Whether a signal ends the program.
  static bool ends(int signal);
  // Stops the process, as Ctrl-Z does by default, and returns once it is continued.
  static void stop_process();
  // Ends the process by the signal's default action. The terminal must be restored before.
  [[noreturn]] static void die_of(int signal);

 private:
  sigset_t before_{};
  int fd_ = -1;
};

}  // namespace hearth
