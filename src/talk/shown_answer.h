// ShownAnswer: writes an answer to the screen as it comes: words wrapped at the window's width,
// reasoning dim and apart from the answer. With 0 columns (no terminal) it writes the answer's text
// alone, unchanged, with a newline at its end.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "talk/wrapped_text.h"

namespace hearth {

class ShownAnswer {
 public:
  ShownAnswer(unsigned columns, bool colours, std::function<void(std::string_view)> write);

  void add(bool thinking, std::string_view piece);
  void resize(unsigned columns);
  // Resets the colours until more comes, so that other text can be written.
  void pause();
  // Ends the answer: the cursor is then at a line's beginning.
  void end();

 private:
  void begin_part(bool thinking);
  void end_part();

  const bool wraps_, colours_;
  const std::function<void(std::string_view)> write_;
  WrappedText text_;
  bool begun_ = false, thinking_ = false, dim_ = false;
  bool line_open_ = false;  // without wrapping: no newline yet
};

}  // namespace hearth
