// Reduce: a block's result y, which is its bias + all groups' partial sums, in the fixed order of
// `sum_program`, is added to the residual x; every group gets a copy of the norm of x + y. The
// residual x' that the next reduce adds to is x + y, or where the norm stands after the residual
// (as in BERT) the norm itself, in f32. A model may have more norms on the way (`Join`). A row's
// bits do not depend on who sums it, so the two ways give the same:
//
//   all to all  Every group sums all rows: one cross-group point. The plan of decode, whose rows
//               are few.
//   dealt       Rows are dealt to the threads of all groups; a row's owner sums it, norms it, makes
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

#include <optional>
#include <string>

#include "graph/ops/rows.h"

namespace hearth {

bool deals_rows(const Plan& plan);

// The widest rows: one in a thread's scratch takes half of it, and the other half is enough for the
// stack of sums of some columns at a time.
inline constexpr uint32_t kMostReduceWidth = kOpTileBytes / sizeof(float) / 2;

// The place of the norm: before the block that reads it, beside the residual, which is not normed;
// or after the block and its residual, which both go on as their norm.
enum class NormPlace : uint8_t { kBeforeBlock, kAfterResidual };

// How a block's result y joins the residual x, by what of it is normed first. What `next` is the
// norm of, with neither, with `behind`, with `inner`:
//
//   x + y               most models
//   x + behind(y)       Gemma, which norms what a block gives
//   x + inner(x + y)    jina-bert-v2 for code
//   x + outer(z)        Gemma 4's experts: z is held + behind(y), where the reduce before has held
//                       behind(y) of a block that read the same x
//
// and what of these it is, times `scale`.
struct Join {
  NormWeight next;                            // none: x' itself follows
  NormPlace place = NormPlace::kBeforeBlock;  // of `next`
  std::optional<NormWeight> behind = {};
  std::optional<NormWeight> inner = {};
  std::optional<NormWeight> outer = {};
  const VectorWeight* scale = nullptr;    // [1] or null
  std::optional<NormWeight> second = {};  // another norm of x' beside `next`
  bool holds = false;  // y, or behind(y), is held for the next reduce, and x' is x
};

struct Reduced {
  Bundle x;  // x' in f32; where rows are dealt each at its owner; empty with kOutputs
  Bundle normed;
  Bundle second = {};  // where the join has one
  Bundle held = {};    // f32, each row in the same group as its row of x'; where the join holds
};

// Rows are at most kMostReduceWidth wide. With RowSet::kOutputs only the step's output rows are
// summed and normed, packed: it is then the model's last norm, nobody reads x' any more, and the
// hidden states that the step wants are given. `held`: of the reduce before, where that held some.
Reduced reduce_add_norm(GraphBuilder& builder, const std::string& name, const Bundle& x,
                        const Partials& partials, const Join& join, RowSet rows = RowSet::kTokens,
                        const Bundle& held = {});

}  // namespace hearth
