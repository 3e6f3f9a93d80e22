// Utf8Stream turns the bytes of tokens, which may end inside a character, into text that is
// well-formed UTF-8 at every moment. It returns a character once it is complete; bytes that no
// later byte can make well-formed become U+FFFD, one for each maximal part of a sequence (Unicode
// standard, section 3.9). The text does not depend on how the bytes were split into pushes.
#pragma once

#include <string>
#include <string_view>

namespace hearth {

class Utf8Stream {
 public:
  std::string push(std::string_view bytes);
  // Ends the stream: a character still unfinished becomes U+FFFD.
  std::string flush();
  // Returns how many bytes are held back: 0 to 3.
  size_t held() const { return held_.size(); }

 private:
  std::string held_;
};

// Returns the bytes as one text with U+FFFD for what is not UTF-8.
std::string well_formed_utf8(std::string_view bytes);

}  // namespace hearth
