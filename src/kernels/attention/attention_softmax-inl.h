// The softmax of a page's scores, over Vec16, by the contract in attention.h: scores become
// probabilities, and the rows' maxima and sums of the span are updated. ISA files include it after
// their Vec16.
#pragma once

#include "kernels/attention/attention_merge-inl.h"
#include "kernels/attention/attention_rows-inl.h"
#include "kernels/simd/exp-inl.h"
#include "kernels/simd/unroll.h"

namespace hearth {
namespace {

// Returns the highest of a row's scores of the page. Scores of slots that it does not see become
// -inf.
inline float highest_score(const RowBlock& b, uint32_t row, SlotRange seen) {
  float* scores = b.scores + size_t{row} * kPagePositions;
  Vec16 s[kPageVectors];
  HEARTH_UNROLL
  for (uint32_t g = 0; g < kPageVectors; ++g) s[g] = Vec16::load(scores + g * kLanes);
  if (seen.begin > 0 || seen.end < kPagePositions) {
    HEARTH_UNROLL
    for (uint32_t g = 0; g < kPageVectors; ++g) {
      s[g] = keep_lanes(s[g], static_cast<int>(seen.begin) - static_cast<int>(g * kLanes),
                        static_cast<int>(seen.end) - static_cast<int>(g * kLanes),
                        Vec16::all(kMinusInfinity));
      store(scores + g * kLanes, s[g]);
    }
  }
  return maximum(max(max(s[0], s[1]), max(s[2], s[3])));
}

inline void add_probabilities(const RowBlock& b, uint32_t row, float peak, Vec16 factor) {
  float* scores = b.scores + size_t{row} * kPagePositions;
  Vec16 s[kPageVectors];
  HEARTH_UNROLL
  for (uint32_t g = 0; g < kPageVectors; ++g) {
    s[g] = sub(Vec16::load(scores + g * kLanes), Vec16::all(peak));
  }
  exp_nonpositive(s);
  HEARTH_UNROLL
  for (uint32_t g = 0; g < kPageVectors; ++g) store(scores + g * kLanes, s[g]);
  float* lanes = b.lanes + size_t{row} * kLanes;
  store(lanes, fma(Vec16::load(lanes), factor, add(add(add(s[0], s[1]), s[2]), s[3])));
}

// Turns the page's scores into probabilities, and updates the rows' maxima and sums. There are
// three passes, so that rows do not wait for each other's latencies.
template <uint32_t kMax>
inline void update_rows(const RowBlock& b, const SlotRange* slots) {
  float before[kMax] = {}, peak[kMax] = {}, factor[kMax];
  for (uint32_t r = 0; r < b.rows; ++r) {
    before[r] = b.span.peak[r];
    peak[r] = slots[r].empty() ? kMinusInfinity : highest_score(b, r, slots[r]);
  }
  for (uint32_t r = 0; r < b.rows; r += kLanes) {
    const Vec16 old = Vec16::load(before + r), now = max(Vec16::load(peak + r), old);
    store(peak + r, now);
    store(factor + r, exp_nonpositive(sub(old, now)));
  }
  for (uint32_t r = 0; r < b.rows; ++r) {
    if (slots[r].empty()) continue;
    b.span.peak[r] = peak[r];
    const Vec16 f = Vec16::all(factor[r]);
    add_probabilities(b, r, peak[r], f);
    if (peak[r] == before[r]) continue;
    float* acc = b.span.acc + size_t{r} * b.value_stride;
    for (uint32_t d = 0; d < b.value_stride; d += kLanes)
      store(acc + d, mul(Vec16::load(acc + d), f));
  }
}

}  // namespace
}  // namespace hearth
