// A line of a terminal with libedit: editing by Emacs' keys, earlier messages by the arrows and
// Ctrl-R, completion by Tab. Alt-Enter puts a new line into it. What is pasted (terminals mark it)
// is put into it as it is; a paste that is long stands there as "[paste 1: 12345 characters]" and
// is taken whole with the line. Bytes that are not UTF-8 become U+FFFD. $EDITRC or ~/.editrc may
// bind other keys.
//
// While nobody reads a line the terminal is as it was.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "talk/input_history.h"
#include "talk/terminal_signals.h"

namespace hearth {

// The result of reading a line.
struct InputLine {
  enum class End : uint8_t {
    kLine,     // it is there, without a newline at its end
    kCleared,  // Ctrl-C
    kEnd,      // Ctrl-D, or there is no more
  };
  End end = End::kEnd;
  std::string text = {};
};

// Returns the words that the last word of a line may become, as whole words.
using WordEndings = std::function<std::vector<std::string>(const std::string& line)>;

class LineEditor {
 public:
  // Errors (kResource): the terminal cannot be used. A signal that ends the program does so, with
  // the terminal in order.
  LineEditor(const TerminalSignals& signals, WordEndings completions);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  InputLine read(const std::string& prompt);
  // Adds a message to those that the arrow keys bring back.
  void remember(const std::string& message);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace hearth
