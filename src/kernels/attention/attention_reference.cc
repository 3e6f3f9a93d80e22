// The contract of attention.h in scalar arithmetic: one row, one slot, one element at a time.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/attention/attention_kernels.h"
#include "kernels/attention/attention_reference-inl.h"
#include "kernels/simd/exp.h"

namespace hearth {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

float add_by_halves(std::array<float, 16> lanes) {
  for (uint32_t half = 8; half > 0; half /= 2) {
    for (uint32_t l = 0; l < half; ++l) lanes[l] += lanes[l + half];
  }
  return lanes[0];
}

// The sums of one row over a span, or over the spans merged so far.
struct Sums {
  std::array<float, kMaxHeadDim> acc{};
  float sum = 0;
  float peak = kMinusInfinity;
};

Sums load_sums(const RowSums& from, uint32_t row, uint32_t value_length) {
  Sums sums;
  const float* acc = from.acc + size_t{row} * padded_length(value_length);
  std::copy_n(acc, value_length, sums.acc.begin());
  sums.sum = from.sum[row];
  sums.peak = from.peak[row];
  return sums;
}

void store_sums(const Sums& sums, const RowSums& to, uint32_t row, uint32_t value_length) {
  uint32_t stride = padded_length(value_length);
  std::copy_n(sums.acc.begin(), stride, to.acc + size_t{row} * stride);
  to.sum[row] = sums.sum;
  to.peak[row] = sums.peak;
}

void merge(const Sums& span, uint32_t value_length, Sums* merged) {
  if (span.sum == 0) return;
  float highest = std::max(merged->peak, span.peak);
  float old_factor = exp_nonpositive(merged->peak - highest);
  float new_factor = exp_nonpositive(span.peak - highest);
  for (uint32_t d = 0; d < value_length; ++d) {
    merged->acc[d] = std::fma(merged->acc[d], old_factor, span.acc[d] * new_factor);
  }
  merged->sum = std::fma(merged->sum, old_factor, span.sum * new_factor);
  merged->peak = highest;
}

void add_sink(float sink, uint32_t value_length, Sums* merged) {
  const float highest = std::max(merged->peak, sink);
  const float factor = exp_nonpositive(merged->peak - highest);
  for (uint32_t d = 0; d < value_length; ++d) merged->acc[d] *= factor;
  merged->sum = std::fma(merged->sum, factor, exp_nonpositive(sink - highest));
  merged->peak = highest;
}

void write_out(const Sums& merged, uint32_t value_length, float* out) {
  float inverse = 1.0f / merged.sum;
  for (uint32_t d = 0; d < value_length; ++d) out[d] = merged.acc[d] * inverse;
}

// The state of one query row. Arrays are indexed by the element of the head.
struct Row {
  Key q{};
  uint32_t first, last, key_length, value_length;
  bool sloped = false;
  float slope = 0;
  uint32_t position = 0;

  Row(const AttendArgs& a, uint32_t i)
      : last(a.last[i]), key_length(a.key_length), value_length(a.value_length) {
    for (uint32_t d = 0; d < key_length; ++d) q[d] = a.q[a.q_offset[i] + d] * a.scale;
    first = a.window == 0 || a.window > last ? 0 : last - a.window + 1;
    if (a.slope == nullptr) return;
    slope = a.slope[i];
    position = a.position[i];
    sloped = true;
  }

  Seen sees(uint32_t page) const {
    uint32_t origin = page * kPagePositions;
    return {std::max(first, origin) - origin, std::min(last + 1 - origin, kPagePositions)};
  }

  float with_slope(float score, uint32_t of) const {
    if (!sloped) return score;
    const uint32_t apart = of < position ? position - of : of - position;
    return std::fma(-slope, static_cast<float>(apart), score);
  }

  // Returns the sums over a span; pages[0] is page number `page0`.
  template <typename Type>
  Sums visit_span(const KvPage* pages, uint32_t span, uint32_t page0 = 0) const {
    const typename Page<Type>::Query query(q.data(), key_length);
    Sums sums;
    std::array<float, 16> lanes{};
    uint32_t begin = std::max(span * kSpanPages, first / kPagePositions);
    uint32_t end = std::min((span + 1) * kSpanPages, last / kPagePositions + 1);
    for (uint32_t page = begin; page < end; ++page) {
      visit<Type>(pages[page - page0], page, query, &sums, &lanes);
    }
    sums.sum = add_by_halves(lanes);
    return sums;
  }

  template <typename Type>
  void visit(const KvPage& page, uint32_t index, const typename Page<Type>::Query& query,
             Sums* sums, std::array<float, 16>* lanes) const {
    const Seen seen = sees(index);
    Scores s{}, p{};
    float highest = sums->peak;
    for (uint32_t slot = seen.begin; slot < seen.end; ++slot) {
      s[slot] = with_slope(Page<Type>::score(page, slot, query), index * kPagePositions + slot);
      if (s[slot] > highest) highest = s[slot];
    }
    for (uint32_t slot = seen.begin; slot < seen.end; ++slot) {
      p[slot] = exp_nonpositive(s[slot] - highest);
    }
    float factor = exp_nonpositive(sums->peak - highest);
    for (uint32_t l = 0; l < 16; ++l) {
      (*lanes)[l] = std::fma((*lanes)[l], factor, ((p[l] + p[l + 16]) + p[l + 32]) + p[l + 48]);
    }
    for (uint32_t d = 0; d < value_length; ++d) sums->acc[d] *= factor;
    Page<Type>::add(page, query, value_length, seen, p, sums->acc.data());
    sums->peak = highest;
  }
};

template <typename Type>
void attend_row(const AttendArgs& a, uint32_t i) {
  const Row row(a, i);
  if (a.sums != nullptr) {
    for (uint32_t span = a.span0; span < a.span1; ++span) {
      float* to = a.sums + row_sums_floats(a.rows, a.value_length) * (span - a.span0);
      store_sums(row.visit_span<Type>(a.pages, span), row_sums(to, a.rows, a.value_length), i,
                 a.value_length);
    }
    return;
  }
  Sums merged;
  constexpr uint32_t kSpan = kSpanPages * kPagePositions;
  for (uint32_t span = row.first / kSpan; span <= row.last / kSpan; ++span) {
    merge(row.visit_span<Type>(a.pages, span), a.value_length, &merged);
  }
  if (a.sink != nullptr) add_sink(a.sink[i], a.value_length, &merged);
  write_out(merged, a.value_length, a.out + a.out_offset[i]);
}

template <typename Type>
void attend(const AttendArgs& a) {
  for (uint32_t i = 0; i < a.rows; ++i) attend_row<Type>(a, i);
}

}  // namespace

void merge_spans_reference(const MergeArgs& a) {
  const RowSums to = row_sums(a.merged, a.rows, a.value_length);
  for (uint32_t i = 0; i < a.rows; ++i) {
    Sums merged = a.first ? Sums() : load_sums(to, i, a.value_length);
    for (uint32_t span = 0; span < a.spans; ++span) {
      float* from = a.sums + row_sums_floats(a.rows, a.value_length) * span;
      merge(load_sums(row_sums(from, a.rows, a.value_length), i, a.value_length), a.value_length,
            &merged);
    }
    store_sums(merged, to, i, a.value_length);
    if (a.out == nullptr) continue;
    if (a.sink != nullptr) add_sink(a.sink[i], a.value_length, &merged);
    write_out(merged, a.value_length, a.out + a.out_offset[i]);
  }
}

void attend_f32_reference(const AttendArgs& a) { attend<F32>(a); }
void attend_f16_reference(const AttendArgs& a) { attend<F16>(a); }
void attend_bf16_reference(const AttendArgs& a) { attend<BF16>(a); }
void attend_q8_0_reference(const AttendArgs& a) { attend<Q8_0>(a); }
void kv_store_f32_reference(const KvStoreArgs& a) { Page<F32>::store(a); }
void kv_store_f16_reference(const KvStoreArgs& a) { Page<F16>::store(a); }
void kv_store_bf16_reference(const KvStoreArgs& a) { Page<BF16>::store(a); }
void kv_store_q8_0_reference(const KvStoreArgs& a) { Page<Q8_0>::store(a); }

void attend_expanded_reference(const AttendArgs& a) {
  for (uint32_t i = 0; i < a.rows; ++i) {
    const Row row(a, i);
    store_sums(row.visit_span<Expanded>(a.pages, a.span0, a.span0 * kSpanPages),
               row_sums(a.sums, a.rows, a.value_length), i, a.value_length);
  }
}
void expand_latent_f32_reference(const ExpandArgs& a) { expand<F32>(a); }
void expand_latent_f16_reference(const ExpandArgs& a) { expand<F16>(a); }
void expand_latent_bf16_reference(const ExpandArgs& a) { expand<BF16>(a); }
void expand_latent_q8_0_reference(const ExpandArgs& a) { expand<Q8_0>(a); }

void attend_latent_f32_reference(const AttendArgs& a) { attend<Latent<F32>>(a); }
void attend_latent_f16_reference(const AttendArgs& a) { attend<Latent<F16>>(a); }
void attend_latent_bf16_reference(const AttendArgs& a) { attend<Latent<BF16>>(a); }
void attend_latent_q8_0_reference(const AttendArgs& a) { attend<Latent<Q8_0>>(a); }
void store_latent_f32_reference(const KvStoreArgs& a) { LatentElements<F32>::store(a); }
void store_latent_f16_reference(const KvStoreArgs& a) { LatentElements<F16>::store(a); }
void store_latent_bf16_reference(const KvStoreArgs& a) { LatentElements<BF16>::store(a); }
void store_latent_q8_0_reference(const KvStoreArgs& a) { LatentElements<Q8_0>::store(a); }

}  // namespace hearth
