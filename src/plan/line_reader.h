// LineReader reads the words of one line of a plan's text. Throws (kUsage) with the line's number
// and its fault.
#pragma once

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

namespace hearth {

class LineReader {
 public:
  LineReader(const std::string& line, uint32_t number) : in_(line), number_(number) {}

  std::string word();
  void expect(const char* wanted);
  uint32_t number();
  // Returns all remaining numbers, at least one.
  std::vector<uint32_t> numbers();
  // Returns all numbers up to the word `end`, at least one, and takes that word too.
  std::vector<uint32_t> numbers_before(const char* end);
  bool at_end() { return (in_ >> std::ws).eof(); }
  // Throws if words are left.
  void finish();

 private:
  uint32_t number_of(const std::string& word) const;

  std::istringstream in_;
  uint32_t number_;
};

}  // namespace hearth
