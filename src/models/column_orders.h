// Decides which quantised matrices are packed with the columns of a group beside each other, and
// where their input is then gathered in that order. This is for matrices whose groups are not runs
// of columns (act-order of GPTQ, formats/stored_codes.h).
//
//   q, k, v; gate, up   a layer gathers their input once, so their orders must be the same
//   o                   its input is gathered from the heads' results, of all shards if there are
//                       several
//   down                gate and up have their rows in the order of its columns, if they are codes
//                       and have no biases; else its input is gathered
//   experts             each has orders of its own; the rows that it takes are brought into the
//                       order of its gate and up. All gates, all ups and all downs of a layer stay
//                       codes or none does, as they have one type
//
// All other matrices, and those with unequal orders, become F32.
#pragma once

namespace hearth {

struct ModelSpec;

// Sets WeightSpec::packed, input_order and row_order of such matrices; their types must be settled.
// Adds a sentence to the spec's notes about matrices that become F32.
void settle_column_orders(ModelSpec* spec);

}  // namespace hearth
