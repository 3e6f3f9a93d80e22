// Finds out whether standard input and output are a terminal, and changes how it behaves. A
// terminal that is quiet shows no key that is pressed, and keeps what is typed for whoever reads
// next; Ctrl-C and Ctrl-Z work. It is as it was when the object dies.
#pragma once

#include <sys/types.h>
#include <termios.h>

namespace hearth {

// The window's width; 80 where nobody knows it.
unsigned terminal_columns();

class QuietTerminal {
 public:
  // Does nothing where standard input is no terminal.
  QuietTerminal();
  ~QuietTerminal() { restore(); }
  QuietTerminal(const QuietTerminal&) = delete;
  QuietTerminal& operator=(const QuietTerminal&) = delete;

  // restore() makes the terminal as it was; quieten() makes it quiet again.
  void restore();
  void quieten();

 private:
  termios before_{};
  bool terminal_ = false;
};

// The terminal as it is when the object is made: its modes, and this process's group as the one
// that its keys go to. Another group may have it for a time. Where the terminal is not this
// process's to lend, only the modes are kept.
class LentTerminal {
 public:
  LentTerminal();
  ~LentTerminal() { take_back(); }
  LentTerminal(const LentTerminal&) = delete;
  LentTerminal& operator=(const LentTerminal&) = delete;

  void lend(pid_t group) const { give(group); }
  void take_back() const { give(own_); }

 private:
  void give(pid_t group) const;

  termios modes_{};
  pid_t own_;
  bool terminal_, foreground_;
};

}  // namespace hearth
