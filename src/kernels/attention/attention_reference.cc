// The contract of attention.h in scalar arithmetic, one row, one slot, one element at a time.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/fp_types.h"
#include "kernels/attention/attention_kernels.h"
#include "kernels/simd/exp.h"

namespace hearth {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

template <typename T>
T* elements(std::byte* half) {
  return reinterpret_cast<T*>(half);
}

struct F32 {
  using Element = float;
  static float widen(float x) { return x; }
  static float narrow(float x) { return x; }
};
struct F16 {
  using Element = f16_t;
  static float widen(f16_t x) { return f16_to_f32(x); }
  static f16_t narrow(float x) { return f32_to_f16(x); }
};
struct BF16 {
  using Element = bf16_t;
  static float widen(bf16_t x) { return bf16_to_f32(x); }
  static bf16_t narrow(float x) { return f32_to_bf16(x); }
};
struct Q8_0 {};

// How to read and write one position of a page.
template <typename Type>
struct Page {
  using Element = typename Type::Element;

  static float score(const KvPage& page, uint32_t head_dim, uint32_t slot, const float* q) {
    const Element* k = elements<Element>(page.k) + slot;
    float s = 0;
    for (size_t d = 0; d < head_dim; ++d) {
      s = std::fma(q[d], Type::widen(k[d * kPagePositions]), s);
    }
    return s;
  }

  static float value(const KvPage& page, uint32_t head_dim, uint32_t slot, uint32_t d) {
    size_t row = size_t{slot} * padded_head_dim(head_dim);
    return Type::widen(elements<Element>(page.v)[row + d]);
  }

  static void store(const KvStoreArgs& a) {
    size_t padded = padded_head_dim(a.head_dim);
    for (size_t d = 0; d < padded; ++d) {
      bool inside = d < a.head_dim;
      elements<Element>(a.page.k)[d * kPagePositions + a.slot] = Type::narrow(inside ? a.k[d] : 0);
      elements<Element>(a.page.v)[a.slot * padded + d] = Type::narrow(inside ? a.v[d] : 0);
    }
  }
};

f16_t block_scale(const float* x, uint32_t count) {
  float amax = 0;
  for (uint32_t i = 0; i < count; ++i) amax = std::max(amax, std::fabs(x[i]));
  return f32_to_f16(amax / 127.0f);
}

int8_t block_code(float x, f16_t scale) {
  if (f16_to_f32(scale) == 0) return 0;
  return static_cast<int8_t>(std::clamp(std::nearbyint(x / f16_to_f32(scale)), -127.0f, 127.0f));
}

template <>
struct Page<Q8_0> {
  static float score(const KvPage& page, uint32_t head_dim, uint32_t slot, const float* q) {
    const int8_t* k = elements<int8_t>(page.k) + slot;
    const f16_t* scales = elements<f16_t>(page.k + kv_scales_offset(head_dim)) + slot;
    float s = 0;
    for (uint32_t b = 0; b < kv_blocks(head_dim); ++b) {
      float chain = 0;
      for (uint32_t d = b * kKvBlock; d < std::min((b + 1) * kKvBlock, head_dim); ++d) {
        chain = std::fma(q[d], static_cast<float>(k[size_t{d} * kPagePositions]), chain);
      }
      s = std::fma(chain, f16_to_f32(scales[size_t{b} * kPagePositions]), s);
    }
    return s;
  }

  static float value(const KvPage& page, uint32_t head_dim, uint32_t slot, uint32_t d) {
    size_t row = size_t{slot} * padded_head_dim(head_dim);
    const f16_t* scales = elements<f16_t>(page.v + kv_scales_offset(head_dim));
    return static_cast<float>(elements<int8_t>(page.v)[row + d]) *
           f16_to_f32(scales[slot * kv_blocks(head_dim) + d / kKvBlock]);
  }

  static void store(const KvStoreArgs& a) {
    size_t padded = padded_head_dim(a.head_dim);
    f16_t* k_scales = elements<f16_t>(a.page.k + kv_scales_offset(a.head_dim));
    f16_t* v_scales = elements<f16_t>(a.page.v + kv_scales_offset(a.head_dim));
    for (uint32_t d = 0; d < padded; ++d) {
      uint32_t b = d / kKvBlock;
      uint32_t count = std::min(kKvBlock, a.head_dim - std::min(a.head_dim, b * kKvBlock));
      f16_t k_scale = block_scale(a.k + b * kKvBlock, count);
      f16_t v_scale = block_scale(a.v + b * kKvBlock, count);
      bool inside = d < a.head_dim;
      k_scales[b * kPagePositions + a.slot] = k_scale;
      v_scales[a.slot * kv_blocks(a.head_dim) + b] = v_scale;
      elements<int8_t>(a.page.k)[size_t{d} * kPagePositions + a.slot] =
          block_code(inside ? a.k[d] : 0, k_scale);
      elements<int8_t>(a.page.v)[a.slot * padded + d] = block_code(inside ? a.v[d] : 0, v_scale);
    }
  }
};

// One query row on its way through the pages; arrays by element of the head.
struct Row {
  const float* q;
  uint32_t first, last, head_dim;
  float m;
  std::array<float, 16> sum;
  std::array<float, kMaxHeadDim> acc;
  float merged_m, merged_sum;
  std::array<float, kMaxHeadDim> merged;

  bool sees(uint32_t page, uint32_t slot) const {
    uint32_t position = page * kPagePositions + slot;
    return position >= first && position <= last;
  }

  void start_span() {
    m = kMinusInfinity;
    sum.fill(0);
    acc.fill(0);
  }

  template <typename Type>
  void visit(const KvPage& page, uint32_t index) {
    std::array<float, kPagePositions> s{}, p{};
    float highest = m;
    for (uint32_t slot = 0; slot < kPagePositions; ++slot) {
      if (!sees(index, slot)) continue;
      s[slot] = Page<Type>::score(page, head_dim, slot, q);
      if (s[slot] > highest) highest = s[slot];
    }
    for (uint32_t slot = 0; slot < kPagePositions; ++slot) {
      if (sees(index, slot)) p[slot] = exp_nonpositive(s[slot] - highest);
    }
    float factor = exp_nonpositive(m - highest);
    for (uint32_t l = 0; l < 16; ++l) {
      sum[l] = std::fma(sum[l], factor, ((p[l] + p[l + 16]) + p[l + 32]) + p[l + 48]);
    }
    for (uint32_t d = 0; d < head_dim; ++d) {
      acc[d] *= factor;
      for (uint32_t slot = 0; slot < kPagePositions; ++slot) {
        if (!sees(index, slot)) continue;
        acc[d] = std::fma(p[slot], Page<Type>::value(page, head_dim, slot, d), acc[d]);
      }
    }
    m = highest;
  }

  void merge_span() {
    for (uint32_t half = 8; half > 0; half /= 2) {
      for (uint32_t l = 0; l < half; ++l) sum[l] += sum[l + half];
    }
    float highest = std::max(merged_m, m);
    float old_factor = exp_nonpositive(merged_m - highest);
    float new_factor = exp_nonpositive(m - highest);
    for (uint32_t d = 0; d < head_dim; ++d) {
      merged[d] = std::fma(merged[d], old_factor, acc[d] * new_factor);
    }
    merged_sum = std::fma(merged_sum, old_factor, sum[0] * new_factor);
    merged_m = highest;
  }
};

template <typename Type>
void attend_row(const AttendArgs& a, uint32_t i) {
  std::array<float, kMaxHeadDim> q{};
  for (uint32_t d = 0; d < a.head_dim; ++d) q[d] = a.q[a.q_offset[i] + d] * a.scale;
  uint32_t last = a.last[i];
  uint32_t first = a.window == 0 || a.window > last ? 0 : last - a.window + 1;
  Row row{};
  row.q = q.data();
  row.first = first;
  row.last = last;
  row.head_dim = a.head_dim;
  row.merged_m = kMinusInfinity;
  uint32_t page = first / kPagePositions;
  uint32_t end = last / kPagePositions + 1;
  while (page < end) {
    row.start_span();
    do {
      row.visit<Type>(a.pages[page], page);
      ++page;
    } while (page < end && page % kSpanPages != 0);
    row.merge_span();
  }
  float inverse = 1.0f / row.merged_sum;
  for (uint32_t d = 0; d < a.head_dim; ++d) a.out[a.out_offset[i] + d] = row.merged[d] * inverse;
}

template <typename Type>
void attend(const AttendArgs& a) {
  for (uint32_t i = 0; i < a.rows; ++i) attend_row<Type>(a, i);
}

}  // namespace

void attend_f32_reference(const AttendArgs& a) { attend<F32>(a); }
void attend_f16_reference(const AttendArgs& a) { attend<F16>(a); }
void attend_bf16_reference(const AttendArgs& a) { attend<BF16>(a); }
void attend_q8_0_reference(const AttendArgs& a) { attend<Q8_0>(a); }
void kv_store_f32_reference(const KvStoreArgs& a) { Page<F32>::store(a); }
void kv_store_f16_reference(const KvStoreArgs& a) { Page<F16>::store(a); }
void kv_store_bf16_reference(const KvStoreArgs& a) { Page<BF16>::store(a); }
void kv_store_q8_0_reference(const KvStoreArgs& a) { Page<Q8_0>::store(a); }

}  // namespace hearth
