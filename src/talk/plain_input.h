// Lines of standard input that nobody edits: of a pipe, a file, or a terminal whose answers go
// elsewhere. Bytes that are not UTF-8 become U+FFFD.
#pragma once

#include <string>

#include "talk/line_editor.h"
#include "talk/terminal_signals.h"

namespace hearth {

class PlainInput {
 public:
  explicit PlainInput(const TerminalSignals& signals) : signals_(signals) {}

  // Ctrl-C gives kCleared. Signals that end the program do so.
  InputLine read();

 private:
  InputLine take_line(size_t end, size_t skipped);

  const TerminalSignals& signals_;
  std::string bytes_;
  size_t looked_ = 0;
  bool ended_ = false;
};

}  // namespace hearth
