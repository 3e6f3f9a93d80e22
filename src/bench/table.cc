#include "bench/table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"

namespace hearth {
namespace {

std::string markdown_cell(const std::string& cell) {
  std::string out;
  for (char c : cell) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

std::string csv_cell(const std::string& cell) {
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string out = "\"";
  for (char c : cell) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

std::string csv_line(const std::vector<std::string>& cells) {
  std::string line;
  for (const std::string& cell : cells) {
    if (&cell != cells.data()) line += ',';
    line += csv_cell(cell);
  }
  return line + "\n";
}

}  // namespace

void Table::add(std::vector<std::string> cells) {
  HEARTH_CHECK(cells.size() == head_.size(), "a row has a cell for every column");
  rows_.push_back(std::move(cells));
}

std::string Table::markdown() const {
  std::vector<size_t> widths;
  for (size_t c = 0; c < head_.size(); ++c) {
    size_t width = markdown_cell(head_[c]).size();
    for (const auto& row : rows_) width = std::max(width, markdown_cell(row[c]).size());
    widths.push_back(width);
  }
  auto line = [&](const std::vector<std::string>& cells) {
    std::string text = "|";
    for (size_t c = 0; c < cells.size(); ++c) {
      text += fmt::format(" {:>{}} |", markdown_cell(cells[c]), widths[c]);
    }
    return text + "\n";
  };
  std::string out = line(head_) + "|";
  for (size_t width : widths) out += fmt::format(" {:->{}}: |", "", width - 1);
  out += "\n";
  for (const auto& row : rows_) out += line(row);
  return out;
}

std::string Table::csv() const {
  std::string out = csv_line(head_);
  for (const auto& row : rows_) out += csv_line(row);
  return out;
}

}  // namespace hearth
