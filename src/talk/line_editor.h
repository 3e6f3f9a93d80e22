// LineEditor: reads a line of a terminal with libedit: Emacs' keys, earlier messages by the arrow
// keys and Ctrl-R, completion by Tab. Alt-Enter inserts a newline. Pasted text (terminals mark it)
// is inserted as it is; a long paste is shown as "[paste 1: 12345 characters]" and replaced by its
// text when the line is sent. Bytes that are not UTF-8 become U+FFFD. $EDITRC or ~/.editrc may bind
// other keys.
//
// While no line is being read, the terminal is in its normal mode.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "talk/input_history.h"
#include "talk/terminal_signals.h"

namespace hearth {

// InputLine: the result of reading a line.
struct InputLine {
  enum class End : uint8_t {
    kLine,     // a line, without its newline
    kCleared,  // Ctrl-C
    kEnd,      // Ctrl-D, or the input's end
  };
  End end = End::kEnd;
  std::string text = {};
};

// Returns the completions of a line's last word, as whole words.
using WordEndings = std::function<std::vector<std::string>(const std::string& line)>;

class LineEditor {
 public:
  // Errors (kResource): the terminal cannot be used. A signal that ends the program does so after
  // the terminal was restored.
  LineEditor(const TerminalSignals& signals, WordEndings completions);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  InputLine read(const std::string& prompt);
  // Adds a message to those that the arrow keys recall.
  void remember(const std::string& message);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace hearth
