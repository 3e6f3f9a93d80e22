// What attention of made-up problems (test_attention_problem.h) has to give, for tests: its
// definition in double, with bounds of what binary32 may be off.
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
// The same of the reference, and its bits of every level, whatever is prefetched.
void expect_true_everywhere(const KvHead& head, const Queries& queries);
// On every level the bits of each row alone and in another order are those that it has among all.
void expect_no_company(const KvHead& head, const Queries& queries);
// On every level spans that several calls visit give the bits of one call. At least four spans.
void expect_spans_apart(const KvHead& head, const Queries& queries);

}  // namespace hearth
