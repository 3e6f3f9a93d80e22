// TextStream turns the bytes of one sequence's tokens into text that is safe to show: well-formed
// UTF-8 at every moment (Utf8Stream), without a stop string or the beginning of text that may
// become one (StopMatcher).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/utf8_stream.h"
#include "tokenizer/stop_strings.h"

namespace hearth {

class TextStream {
 public:
  // Throws as StopMatcher does.
  explicit TextStream(std::vector<std::string> stops) : stops_(std::move(stops)) {}

  std::string push(std::string_view bytes) { return stops_.push(utf8_.push(bytes)); }
  // Ends the stream and returns the text held back.
  std::string end() {
    std::string tail = stops_.push(utf8_.flush());
    return tail + stops_.flush();
  }

  bool stopped() const { return stops_.stopped(); }
  // Returns the stop string found; empty while not stopped.
  const std::string& stop() const { return stops_.matched(); }

 private:
  Utf8Stream utf8_;
  StopMatcher stops_;
};

}  // namespace hearth
