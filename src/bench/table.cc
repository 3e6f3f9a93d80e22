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

void append(Cells* cells, const Cells& more) {
  cells->insert(cells->end(), more.begin(), more.end());
}

std::string csv_number(double value) { return fmt::format("{:.6g}", value); }
std::string csv_number(uint64_t value) { return fmt::format("{}", value); }

void Table::add(const Cells& row) {
  std::vector<std::string> names, cells;
  for (const auto& [name, cell] : row) {
    names.push_back(name);
    cells.push_back(cell);
  }
  if (lines_.empty()) lines_.push_back(std::move(names));
  HEARTH_CHECK(cells.size() == lines_[0].size(), "a row has a cell for every column");
  lines_.push_back(std::move(cells));
}

std::string Table::markdown() const {
  if (lines_.empty()) return "";
  std::vector<size_t> widths(lines_[0].size(), 0);
  for (const auto& line : lines_) {
    for (size_t c = 0; c < widths.size(); ++c) {
      widths[c] = std::max(widths[c], markdown_cell(line[c]).size());
    }
  }
  std::string out;
  for (const auto& line : lines_) {
    out += "|";
    for (size_t c = 0; c < widths.size(); ++c) {
      out += fmt::format(" {:>{}} |", markdown_cell(line[c]), widths[c]);
    }
    out += "\n";
    if (&line != lines_.data()) continue;
    out += "|";
    for (size_t width : widths) out += fmt::format(" {:->{}}: |", "", width - 1);
    out += "\n";
  }
  return out;
}

std::string Table::csv() const {
  std::string out;
  for (const auto& line : lines_) out += csv_line(line);
  return out;
}

}  // namespace hearth
