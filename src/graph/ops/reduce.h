// Reduce: x' = x + bias + all groups' partial sums, in the fixed order of `sum_program`, and its
// RMS norm, which every group gets a copy of. A row's bits do not depend on who sums it, so the two
// ways give the same:
//
//   all to all  Every group sums all rows: one cross-group point. The plan of decode, whose rows
//               are few.
//   dealt       Rows are dealt to the members of the plan; a row's owner sums it, norms it, makes
//               every format once and writes it into all groups' copies (a reduce-scatter and an
//               all-gather), and groups meet once more. x' then lives at the owner only. The plan
//               of prefill, where there are two groups or more.
//
// Bytes that cross groups, with P groups, a piece of partial sums each, rows of `width` elements in
// formats of f bytes an element (f: q8 1.375, bf16 2, f32 4):
//   all to all  P (P - 1) x rows x width x 4        each group reads the others' pieces
//   dealt         (P - 1) x rows x width x (4 + f)  each row's owner does, and writes P - 1 copies
// so the second moves less where f < 4 (P - 1): always from three groups on, and of two for q8 and
// bf16; for f32 they are even, and summing and norming once decides.
#pragma once

#include <string>

#include "graph/ops/rows.h"

namespace hearth {

bool deals_rows(const Plan& plan);

struct Reduced {
  Bundle x;  // empty with kOutputs
  Bundle normed;
};

// With RowSet::kOutputs only the step's output rows are summed and normed, packed: it is then the
// model's last norm, nobody reads x' any more, and the hidden states that the step wants are given.
Reduced reduce_add_norm(GraphBuilder& builder, const std::string& name, const Bundle& x,
                        const Partials& partials, const NormWeight& norm,
                        RowSet rows = RowSet::kTokens);

}  // namespace hearth
