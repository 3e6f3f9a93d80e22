// Text that comes in pieces, laid out for a window: a word that would cross its right edge goes to
// the next line, and no word is held back longer than to its end. Lines of code, between fences of
// three backticks, stay as they are; so do words that are wider than the window, which the terminal
// breaks. Wide characters (Chinese, Japanese, Korean) are words of their own. Control characters,
// which could move the cursor or forge what somebody else wrote, are dropped.
//
// How the text was cut into pieces makes no difference to what comes out. Pieces are UTF-8; what is
// not becomes U+FFFD.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/utf8_stream.h"

namespace hearth {

class WrappedText {
 public:
  // `columns`: of the window, at least 1.
  explicit WrappedText(unsigned columns) : columns_(columns) {}

  std::string push(std::string_view piece);
  // The word that is held back.
  std::string flush();
  // Sets the width of the window from now on.
  void resize(unsigned columns);
  // Returns the cursor's column after all that came out; 0: at the start of a line.
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
  size_t word_width_ = 0;  // its columns
  size_t spaces_ = 0;      // before it
  size_t column_ = 0;
  std::string line_start_;  // the line's first characters, for fences
  bool in_code_ = false;
  bool long_word_ = false;  // amid one that is wider than the window
};

// Drops the same characters from a text that is not wrapped. UTF-8.
std::string without_controls(std::string_view text);

// Columns that a character takes: 0 to 2. `character`: one well-formed sequence.
size_t character_width(std::string_view character);

}  // namespace hearth
