// What the terminal at standard input and output is and how it behaves. A terminal that is quiet
// shows no key that is pressed, and keeps what is typed for whoever reads next; Ctrl-C and Ctrl-Z
// work. It is as it was when the object dies.
#pragma once

#include <termios.h>

namespace hearth {

// The window's width; 80 where nobody knows it.
unsigned terminal_columns();

class QuietTerminal {
 public:
  // Nothing happens where standard input is no terminal.
  QuietTerminal();
  ~QuietTerminal() { restore(); }
  QuietTerminal(const QuietTerminal&) = delete;
  QuietTerminal& operator=(const QuietTerminal&) = delete;

  // As it was, and quiet once more.
  void restore();
  void quieten();

 private:
  termios before_{};
  bool terminal_ = false;
};

}  // namespace hearth
