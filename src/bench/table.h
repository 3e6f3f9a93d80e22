// A table built row by row, with equal columns. Each cell is given with the name of its column, so
// that no second list of names exists. The forms are Markdown, with cells padded so that it reads
// well in a terminal, and CSV (RFC 4180).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace hearth {

using Cells = std::vector<std::pair<std::string, std::string>>;  // {column, cell}

void append(Cells* cells, const Cells& more);

// Format numbers for CSV: six digits, or all digits of a whole number.
std::string csv_number(double value);
std::string csv_number(uint64_t value);

class Table {
 public:
  // Adds a row, which must have the columns of the first one.
  void add(const Cells& row);
  // Both return "" where there is no row. All columns are aligned to the right. '|' in a cell is
  // escaped.
  std::string markdown() const;
  std::string csv() const;

 private:
  std::vector<std::vector<std::string>> lines_;  // the first line has the columns' names
};

}  // namespace hearth
