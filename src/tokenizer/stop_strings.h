// StopMatcher ends a stream of text at the first stop string, which may be spread over any number
// of pushes. It returns text as soon as it cannot be part of a stop string any more: only the
// longest end of the text that begins a stop string is held back.
//
// The stop string that is completed first wins; of several that the same byte completes, the
// longest wins. So the result does not depend on how the text was cut into pushes. Neither the stop
// string nor the text behind it is returned.
//
// Errors: an empty stop string is refused (kRequest).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hearth {

class StopMatcher {
 public:
  explicit StopMatcher(std::vector<std::string> stops);

  // Adds text and returns what is safe to show now; nothing once stopped.
  std::string push(std::string_view text);
  // Ends the stream and returns the text held back; nothing once stopped.
  std::string flush();

  bool stopped() const { return stopped_; }
  // Returns the stop string found; empty while not stopped.
  const std::string& matched() const { return matched_; }

 private:
  // A stop string, searched with the automaton of Knuth, Morris and Pratt.
  struct Pattern {
    std::string text;
    std::vector<size_t> border;  // for each beginning, its longest end that is also a beginning
    size_t state = 0;            // bytes of `text` that the stream ends with

    void advance(char c);
  };

  std::vector<Pattern> patterns_;
  std::string held_;
  std::string matched_;
  bool stopped_ = false;
};

}  // namespace hearth
