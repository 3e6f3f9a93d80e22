// The true results of attention over made-up problems (test_attention_problem.h), for tests:
// attention by its definition, in double, with bounds on the error of binary32.
#pragma once

#include <vector>

#include "kernels/attention/test_attention_problem.h"
#include "kernels/kernels.h"

namespace hearth {

AttendFn attend_of(Isa isa, KvType type);
// Returns the levels that have an AttendFn of their own for the type.
std::vector<Isa> attend_levels(KvType type);
KvHead filled_head(KvType type, HeadLengths lengths, uint32_t positions, uint32_t seed);
bool same_bits(const std::vector<float>& a, const std::vector<float>& b);

// Expects `out`, from Queries::run(), to be within the bounds of the truth, and nothing written
// outside the rows.
void expect_true(const KvHead& head, const Queries& queries, const std::vector<float>& out);
// Expects that the reference level is within the bounds of the truth, and that every level gives
// its bits, with and without prefetches.
void expect_true_everywhere(const KvHead& head, const Queries& queries);
// Expects on every level that a row has the same bits as the only row of a call, among all rows,
// and in another order.
void expect_no_company(const KvHead& head, const Queries& queries);
// Expects on every level that several calls, each for some of the spans, give the bits of one call
// for all of them. The problem must have four spans.
void expect_spans_apart(const KvHead& head, const Queries& queries);

}  // namespace hearth
