// The order of a matrix's columns in memory, where it is not that in which its input lies: column j
// of the pack is column order[j] of the matrix, so products read element order[j] of the input
// there. It has every column once; null where columns lie as the input does.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace hearth {

using ColumnOrder = std::shared_ptr<const std::vector<uint32_t>>;

// Whether both orders are null, or equal.
inline bool same_order(const ColumnOrder& a, const ColumnOrder& b) {
  return a == b || (a != nullptr && b != nullptr && *a == *b);
}

}  // namespace hearth
