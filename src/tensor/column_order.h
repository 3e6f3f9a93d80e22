// The order of a matrix's columns in memory, if it differs from the order of its input: column j of
// the pack is column order[j] of the matrix. So a product multiplies column j of the pack by
// element order[j] of its input. An order names every column once; null means that columns lie in
// the input's order.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace hearth {

using ColumnOrder = std::shared_ptr<const std::vector<uint32_t>>;

// Returns whether both orders are null or equal.
inline bool same_order(const ColumnOrder& a, const ColumnOrder& b) {
  return a == b || (a != nullptr && b != nullptr && *a == *b);
}

}  // namespace hearth
