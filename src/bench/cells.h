// Rows of a report in the making: each cell stands beside the name of its column, so that rows of
// equal columns make a table without a second list of names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/table.h"

namespace hearth {

using Cells = std::vector<std::pair<std::string, std::string>>;  // {column, cell}

void append(Cells* cells, const Cells& more);

// As they stand in CSV: six digits, or all of a whole number's.
std::string csv_number(double value);
std::string csv_number(uint64_t value);

// Rows of equal columns become one table.
class CellTable {
 public:
  void add(Cells cells);
  // Empty where there is no row. Takes the rows: what is added next begins a new table.
  std::string take_markdown();
  std::string take_csv();

 private:
  std::optional<Table> table_;
};

}  // namespace hearth
