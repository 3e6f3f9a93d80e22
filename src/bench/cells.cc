#include "bench/cells.h"

#include <fmt/format.h>

namespace hearth {

void append(Cells* cells, const Cells& more) {
  cells->insert(cells->end(), more.begin(), more.end());
}

std::string csv_number(double value) { return fmt::format("{:.6g}", value); }
std::string csv_number(uint64_t value) { return fmt::format("{}", value); }

void CellTable::add(Cells cells) {
  std::vector<std::string> names, row;
  for (auto& cell : cells) {
    names.push_back(std::move(cell.first));
    row.push_back(std::move(cell.second));
  }
  if (!table_) table_.emplace(std::move(names));
  table_->add(std::move(row));
}

std::string CellTable::take_markdown() {
  std::string text = table_ ? table_->markdown() : "";
  table_.reset();
  return text;
}

std::string CellTable::take_csv() {
  std::string text = table_ ? table_->csv() : "";
  table_.reset();
  return text;
}

}  // namespace hearth
