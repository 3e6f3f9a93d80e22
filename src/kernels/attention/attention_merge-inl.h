// The merge of rows' sums over several spans, and the result of the contract in attention.h, over
// Vec16. ISA files include it after their Vec16.
#pragma once

#include "kernels/attention/attention.h"
#include "kernels/simd/exp-inl.h"

namespace hearth {
namespace {

constexpr uint32_t kLanes = 16;
constexpr float kMinusInfinity = -__builtin_inff();

// Sets the sums to those from which the sums over spans start.
inline void clear_sums(const RowSums& sums, uint32_t rows, uint32_t stride) {
  for (size_t i = 0; i < size_t{rows} * stride; ++i) sums.acc[i] = 0;
  for (uint32_t i = 0; i < rows; ++i) {
    sums.sum[i] = 0;
    sums.peak[i] = kMinusInfinity;
  }
}

inline void merge_row(const RowSums& span, const RowSums& merged, uint32_t row, uint32_t stride) {
  // A sum of 0 means that the row sees nothing of the span. Otherwise the row's highest score has
  // added 1 to the sum, or a score that is not finite has made the sum NaN.
  if (span.sum[row] == 0) return;
  float before = merged.peak[row];
  float peak = span.peak[row] > before ? span.peak[row] : before;
  Vec16 old_factor = exp_nonpositive(Vec16::all(before - peak));
  Vec16 new_factor = exp_nonpositive(Vec16::all(span.peak[row] - peak));
  float* to = merged.acc + size_t{row} * stride;
  const float* acc = span.acc + size_t{row} * stride;
  for (uint32_t d = 0; d < stride; d += kLanes) {
    Vec16 scaled = mul(Vec16::load(acc + d), new_factor);
    store(to + d, fma(Vec16::load(to + d), old_factor, scaled));
  }
  Vec16 scaled = mul(Vec16::all(span.sum[row]), new_factor);
  Vec16 total = fma(Vec16::all(merged.sum[row]), old_factor, scaled);
  store_part(merged.sum + row, 1, total);
  merged.peak[row] = peak;
}

// Adds the row's sink, after its last span.
inline void add_sink(const RowSums& merged, uint32_t row, uint32_t stride, float sink) {
  const float before = merged.peak[row];
  const float peak = sink > before ? sink : before;
  const Vec16 factor = exp_nonpositive(Vec16::all(before - peak));
  float* acc = merged.acc + size_t{row} * stride;
  for (uint32_t d = 0; d < stride; d += kLanes) {
    store(acc + d, mul(Vec16::load(acc + d), factor));
  }
  const Vec16 own = exp_nonpositive(Vec16::all(sink - peak));
  store_part(merged.sum + row, 1, fma(Vec16::all(merged.sum[row]), factor, own));
  merged.peak[row] = peak;
}

inline void write_row(const RowSums& merged, uint32_t row, uint32_t value_length, float* out) {
  Vec16 inverse = Vec16::all(1.0f / merged.sum[row]);
  const float* acc = merged.acc + size_t{row} * padded_length(value_length);
  for (uint32_t d = 0; d < value_length; d += kLanes) {
    Vec16 x = mul(Vec16::load(acc + d), inverse);
    uint32_t left = value_length - d;
    if (left >= kLanes) {
      store(out + d, x);
    } else {
      store_part(out + d, left, x);
    }
  }
}

inline void merge_spans(const MergeArgs& a) {
  const uint32_t stride = padded_length(a.value_length);
  const size_t floats = row_sums_floats(a.rows, a.value_length);
  const RowSums merged = row_sums(a.merged, a.rows, a.value_length);
  if (a.first) clear_sums(merged, a.rows, stride);
  for (uint32_t s = 0; s < a.spans; ++s) {
    const RowSums span = row_sums(a.sums + floats * s, a.rows, a.value_length);
    for (uint32_t i = 0; i < a.rows; ++i) merge_row(span, merged, i, stride);
  }
  if (a.out == nullptr) return;
  for (uint32_t i = 0; i < a.rows; ++i) {
    if (a.sink != nullptr) add_sink(merged, i, stride, a.sink[i]);
    write_row(merged, i, a.value_length, a.out + a.out_offset[i]);
  }
}

}  // namespace
}  // namespace hearth
