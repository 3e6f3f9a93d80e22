// Reduce: a block's result y, which is its bias + all groups' partial sums in the fixed order of
// `sum_program`, is added to the residual x. Every group gets a copy of the norm of x + y. The next
// reduce adds to the residual x'. It is x + y or, if the norm stands after the residual (as in
// BERT), the norm itself, in f32. A model may have more norms on the way (`Join`). A row's bits do
// not depend on the thread that sums it, so these two ways give the same:
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
// So the second way moves fewer bytes if f < 4 (P - 1): always with three groups or more, and with
// two for q8 and bf16. For f32 and two groups both ways move as many bytes, and the second way sums
// and norms each row only once.
#pragma once

#include <optional>
#include <string>

#include "graph/ops/rows.h"

namespace hearth {

bool deals_rows(const Plan& plan);

// The widest rows. Such a row takes half of a thread's scratch; the other half is enough for the
// stack of sums of some columns at a time.
inline constexpr uint32_t kMaxReduceWidth = kOpTileBytes / sizeof(float) / 2;

// The place of the norm: before the block that reads it, so that the residual is not normed; or
// after the block and its residual, so that the residual is the norm.
enum class NormPlace : uint8_t { kBeforeBlock, kAfterResidual };

// How a block's result y joins the residual x: x' is one of these sums, times `scale`. With
// kAfterResidual x' is the norm of that product.
//
//   x + y               most models: none of `behind`, `inner`, `outer`
//   x + behind(y)       Gemma, which norms a block's result
//   x + inner(x + y)    jina-bert-v2 for code
//   x + outer(z)        Gemma 4's experts: z = held + behind(y), where the reduce before has held
//                       behind(y) of a block that read the same x
struct Join {
  NormWeight next;                            // of x'; none: x' itself follows
  NormPlace place = NormPlace::kBeforeBlock;  // of `next`
  std::optional<NormWeight> behind = {};
  std::optional<NormWeight> inner = {};
  std::optional<NormWeight> outer = {};
  const VectorWeight* scale = nullptr;    // [1] or null
  std::optional<NormWeight> second = {};  // another norm of x', beside `next`
  bool holds = false;  // y, or behind(y), is held for the next reduce, and x' = x
};

struct Reduced {
  Bundle x;  // x' in f32; dealt rows each at their owner; empty with kOutputs
  Bundle normed;
  Bundle second = {};  // empty unless the join has one
  Bundle held = {};    // in f32, if the join holds; a row lies in the same group as its x'
};

// Rows are at most kMaxReduceWidth wide. With RowSet::kOutputs only the step's output rows are
// summed and normed, packed. This is the model's last norm: x' is not written, but the hidden
// states that the step wants are written. `held`: Reduced::held of the reduce before, if that one
// held a result.
Reduced reduce_add_norm(GraphBuilder& builder, const std::string& name, const Bundle& x,
                        const Partials& partials, const Join& join, RowSet rows = RowSet::kTokens,
                        const Bundle& held = {});

}  // namespace hearth
