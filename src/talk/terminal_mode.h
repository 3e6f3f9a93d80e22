// Checks whether standard input and output are a terminal, and changes its mode. A QuietTerminal
// does not echo keys, and keeps what is typed for the next reader; Ctrl-C and Ctrl-Z work. Its
// destructor restores the terminal.
#pragma once

#include <sys/types.h>
#include <termios.h>

namespace hearth {

// Returns the window's width in columns; 80 where it is not known.
unsigned terminal_columns();

class QuietTerminal {
 public:
  // Does nothing where standard input is no terminal.
  QuietTerminal();
  ~QuietTerminal() { restore(); }
  QuietTerminal(const QuietTerminal&) = delete;
  QuietTerminal& operator=(const QuietTerminal&) = delete;

  // restore() sets the terminal back to its earlier mode; quieten() makes it quiet again.
  void restore();
  void quieten();

 private:
  termios before_{};
  bool terminal_ = false;
};

// LentTerminal: remembers the terminal's modes, and that this process's group receives its keys, so
// that another group can have the terminal for a time. Where this process is not in the foreground,
// it only remembers the modes.
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
