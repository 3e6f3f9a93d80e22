#include "graph/op_work.h"

#include <algorithm>

namespace hearth {

Visible visible(uint64_t first_position, uint64_t rows, uint64_t window) {
  uint64_t first = first_position + 1, last = first_position + rows;
  uint64_t most = window == 0 ? last : window;
  // Rows that see everything before them, then rows that see `most`.
  uint64_t whole = std::min(last, std::max(most, first - 1)) - (first - 1);
  uint64_t pairs = whole * (2 * first + whole - 1) / 2 + (rows - whole) * most;
  return {last - (first - std::min(first, most)), pairs};
}

}  // namespace hearth
