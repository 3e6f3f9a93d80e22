// WrappedText: wraps text that comes in pieces to a window. A word that would cross the right edge
// goes to the next line; a word is held back until its end at most. Lines of code (between fences
// of three backticks) are not wrapped, nor are words wider than the window, which the terminal
// breaks. Wide characters (Chinese, Japanese, Korean) count as words of their own. Control
// characters, which could move the cursor or forge other output, are dropped.
//
// The output does not depend on how the text was cut into pieces. Pieces are UTF-8; other bytes
// become U+FFFD.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/utf8_stream.h"

namespace hearth {

class WrappedText {
 public:
  // `columns`: the window's width, at least 1.
  explicit WrappedText(unsigned columns) : columns_(columns) {}

  std::string push(std::string_view piece);
  // Returns the word that is held back.
  std::string flush();
  // Sets the width of the window from now on.
  void resize(unsigned columns);
  // Returns the cursor's column after all output so far; 0: at a line's beginning.
  size_t column() const { return column_; }

 private:
  void take(std::string_view character);
  void end_line();
  void end_word();
  void put(std::string_view text, size_t width);

  unsigned columns_;
  Utf8Stream characters_;
  std::string out_;
  std::string word_;       // held back
  size_t word_width_ = 0;  // in columns
  size_t spaces_ = 0;      // before the word
  size_t column_ = 0;
  std::string line_start_;  // the line's first characters, to recognise fences
  bool in_code_ = false;
  bool long_word_ = false;  // within a word wider than the window
};

// Drops the characters that WrappedText drops from a text in UTF-8.
std::string without_controls(std::string_view text);

// Returns how many columns a character takes, 0 to 2. `character`: one well-formed UTF-8 sequence.
size_t character_width(std::string_view character);

}  // namespace hearth
