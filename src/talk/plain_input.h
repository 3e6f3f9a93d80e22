// PlainInput: reads standard input by lines without an editor: from a pipe, a file, or a terminal
// whose output goes elsewhere. Bytes that are not UTF-8 become U+FFFD.
#pragma once

#include <string>

#include "talk/line_editor.h"
#include "talk/terminal_signals.h"

namespace hearth {

class PlainInput {
 public:
  explicit PlainInput(const TerminalSignals& signals) : signals_(signals) {}

  // Reads a line. Ctrl-C gives kCleared; signals that end the program do so.
  InputLine read();

 private:
  InputLine take_line(size_t end, size_t skipped);

  const TerminalSignals& signals_;
  std::string bytes_;
  size_t looked_ = 0;
  bool ended_ = false;
};

}  // namespace hearth
