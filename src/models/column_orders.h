// Decides for quantised matrices whose groups are not runs of columns (act-order of GPTQ,
// formats/stored_codes.h) which are packed with the columns of a group beside each other, and where
// their input is then gathered in that order.
//
//   q, k, v; gate, up   a layer gathers its input once: their orders must be one
//   o                   it gathers the heads' results, those of all shards where there are several
//   down                gate and up have their rows in the order of its columns, where they are
//                       codes and have no biases; else it gathers what they give
//   experts             each has its own orders: whoever computes one brings the rows that it takes
//                       into that of its gate and up. All gates, all ups and all downs of a layer
//                       stay codes or none does, as they have one type
//
// All others, and those of which the orders differ, become F32.
#pragma once

namespace hearth {

struct ModelSpec;

// Sets WeightSpec::packed, input_order and row_order of such matrices, whose types are settled, and
// adds a sentence on those that become F32 to the spec's notes.
void settle_column_orders(ModelSpec* spec);

}  // namespace hearth
