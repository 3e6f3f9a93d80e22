// A table in the making: Markdown with cells padded to columns, so that it reads well in a terminal
// too, or CSV (RFC 4180).
#pragma once

#include <string>
#include <vector>

namespace hearth {

class Table {
 public:
  explicit Table(std::vector<std::string> head) : head_(std::move(head)) {}

  // As many cells as the head has.
  void add(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }

  // All columns are aligned to the right. '|' in a cell is escaped.
  std::string markdown() const;
  std::string csv() const;

 private:
  std::vector<std::string> head_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace hearth
