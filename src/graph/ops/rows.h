// Ops that work row by row: the step's start (embedding, RoPE angles), norms, reduces, logits.
#pragma once

#include <string>
#include <vector>

#include "graph/builder.h"
#include "graph/ops/linear.h"
#include "kernels/rope/rope.h"
#include "tensor/weight.h"

namespace hearth {

// f32 [tokens][d]: the rows of a row-cut embedding table that the step's tokens name.
Bundle embed(GraphBuilder& builder, const Weight& table);

// f32 [tokens][n_rot]: n_rot / 2 cosines, then as many sines, of each token's position.
Bundle rope_angles(GraphBuilder& builder, const RopeTable& table);

struct NormWeight {
  const VectorWeight* weight;
  float eps;
};

// RMS norm of every row, in the formats its readers ask for. With kOutputs only of the step's
// output rows, packed; it is then the model's last norm, and also gives the hidden states that are
// wanted.
Bundle rms_norm(GraphBuilder& builder, std::string name, const Bundle& x, const NormWeight& norm,
                RowSet rows = RowSet::kTokens);

// Reduce: x' = x + bias + all groups' partial sums, in the fixed order of `sum_program`, straight
// into every group's own copy; and its RMS norm. One cross-group point.
struct Reduced {
  Bundle x;
  Bundle normed;
};
Reduced reduce_add_norm(GraphBuilder& builder, const std::string& name, const Bundle& x,
                        const Partials& partials, const NormWeight& norm,
                        RowSet norm_rows = RowSet::kTokens);

// The vocabulary's logits of the output rows, by row-cut head: every group writes its columns of
// the step's logits.
void logits(GraphBuilder& builder, const Bundle& x, const Weight& head);

}  // namespace hearth
