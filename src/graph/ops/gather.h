// Reorders activations as a matrix's packed columns are ordered (tensor/column_order.h).
#pragma once

#include <string>

#include "graph/builder.h"
#include "tensor/weight.h"

namespace hearth {

// Returns the input that the weight multiplies with: x itself if the weight has no order of
// columns, else a value of the same widths that an op makes of x in f32. For a row-cut weight x is
// the whole input, in every group (parallel). For a column-cut weight every group's x has the
// columns of its share (column_values()), and the op takes a group's columns from the values of all
// groups (reduce).
Bundle in_column_order(GraphBuilder& builder, const std::string& name, const Bundle& x,
                       const Weight& weight);

}  // namespace hearth
