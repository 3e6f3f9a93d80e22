// An answer on the screen as it comes: words wrapped at the window's width, thinking dim and apart
// from the answer; or, with no columns, for what is no terminal: the answer's text alone, as it is,
// with a newline at its end.
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
  // The colours are as usual until more comes: something else may write.
  void pause();
  // The end of all: the cursor is at the start of a line.
  void end();

 private:
  void begin_part(bool thinking);
  void end_part();

  const bool wraps_, colours_;
  const std::function<void(std::string_view)> write_;
  WrappedText text_;
  bool begun_ = false, thinking_ = false, dim_ = false;
  bool line_open_ = false;  // where nothing is wrapped
};

}  // namespace hearth
