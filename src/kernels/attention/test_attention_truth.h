// The truth of attention over made-up problems (test_attention_problem.h), for tests: its
// definition in double, with bounds of how far binary32 may be off.
#pragma once

#include <vector>

#include "kernels/attention/test_attention_problem.h"
#include "kernels/kernels.h"

namespace hearth {

AttendFn attend_of(Isa isa, KvType type);
// The levels that have an AttendFn of their own for the type.
std::vector<Isa> attend_levels(KvType type);
KvHead filled_head(KvType type, HeadLengths lengths, uint32_t positions, uint32_t seed);
bool same_bits(const std::vector<float>& a, const std::vector<float>& b);

// Expects `out`, from Queries::run(), to be as near the truth as its bounds say, and nothing
// written beside the rows.
void expect_true(const KvHead& head, const Queries& queries, const std::vector<float>& out);
// Expects the truth of the reference, and its bits on every level, whatever is prefetched.
void expect_true_everywhere(const KvHead& head, const Queries& queries);
// Expects on every level that the bits of each row alone and in another order are those that it has
// among all.
void expect_no_company(const KvHead& head, const Queries& queries);
// Expects on every level that several calls, each for some of the spans, give the bits of one call
// for all of them. The problem must have four spans.
void expect_spans_apart(const KvHead& head, const Queries& queries);

}  // namespace hearth
