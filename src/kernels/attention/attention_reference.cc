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
// A page of latents (kernels/attention/latent.h).
template <typename Type>
struct Latent {};

using Scores = std::array<float, kPagePositions>;
using Key = std::array<float, kMaxLatentKey>;  // or a shorter one

// A row sees slots [begin, end) of a page.
struct Seen {
  uint32_t begin, end;
};

// A scaled query.
struct FloatQuery {
  FloatQuery(const float* q_, uint32_t length_) : q(q_), length(length_) {}
  const float* q;
  uint32_t length;
};

// How to read and write a page.
template <typename Type>
struct Page {
  using Element = typename Type::Element;
  using Query = FloatQuery;

  static float score(const KvPage& page, uint32_t slot, const Query& query) {
    const Element* k = elements<Element>(page.k) + slot;
    float s = 0;
    for (size_t d = 0; d < query.length; ++d) {
      s = std::fma(query.q[d], Type::widen(k[d * kPagePositions]), s);
    }
    return s;
  }

  // Adds the values that a row of that query sees times p to acc[length].
  static void add(const KvPage& page, const Query&, uint32_t length, Seen seen, const Scores& p,
                  float* acc) {
    for (uint32_t d = 0; d < length; ++d) {
      for (uint32_t slot = seen.begin; slot < seen.end; ++slot) {
        Element v = elements<Element>(page.v)[size_t{slot} * padded_length(length) + d];
        acc[d] = std::fma(p[slot], Type::widen(v), acc[d]);
      }
    }
  }

  static void store(const KvStoreArgs& a) {
    for (size_t d = 0; d < padded_length(a.key_length); ++d) {
      const float x = d < a.key_length ? a.k[d] : 0;
      elements<Element>(a.page.k)[d * kPagePositions + a.slot] = Type::narrow(x);
    }
    const size_t padded = padded_length(a.value_length);
    for (size_t d = 0; d < padded; ++d) {
      const float x = d < a.value_length ? a.v[d] : 0;
      elements<Element>(a.page.v)[a.slot * padded + d] = Type::narrow(x);
    }
  }
};

f16_t block_scale(const float* x, uint32_t count) {
  float amax = 0, zeros = 0;
  for (uint32_t i = 0; i < count; ++i) {
    amax = std::max(amax, std::fabs(x[i]));
    zeros += 0.0f * x[i];
  }
  return f32_to_f16(amax / 127.0f + zeros);
}

int8_t block_code(float x, f16_t scale) {
  if (!(f16_to_f32(scale) > 0)) return 0;
  return static_cast<int8_t>(std::clamp(std::nearbyint(x / f16_to_f32(scale)), -127.0f, 127.0f));
}

int8_t& key_code(const KvPage& page, uint32_t slot, size_t d) {
  return elements<int8_t>(page.k)[(d / 2 * kPagePositions + slot) * 2 + d % 2];
}
int8_t& value_code(const KvPage& page, uint32_t length, size_t slot, uint32_t d) {
  return elements<int8_t>(page.v)[(slot / 2 * padded_length(length) + d) * 2 + slot % 2];
}
f16_t* block_scales(std::byte* half, uint32_t length, uint32_t block) {
  return elements<f16_t>(half + kv_scales_offset(length)) + size_t{block} * kPagePositions;
}
// x in steps of 1 / 32767 of the highest; `unit` is not finite where any of them is not.
int32_t rounded(float x, float highest, float unit) {
  if (highest < 0x1p-100f || !std::isfinite(unit)) return 0;
  return static_cast<int32_t>(std::nearbyint(x * (32767.0f / highest)));
}

template <>
struct Page<Q8_0> {
  struct Query {
    std::array<int32_t, kMaxLatentKey> codes{};
    float unit;
    uint32_t length;

    Query(const float* q, uint32_t length_) : length(length_) {
      float highest = 0, zeros = 0;
      for (uint32_t d = 0; d < length; ++d) {
        highest = std::max(highest, std::fabs(q[d]));
        zeros += 0.0f * q[d];
      }
      unit = highest * (1.0f / 32767.0f) + zeros;
      for (uint32_t d = 0; d < length; ++d) codes[d] = rounded(q[d], highest, unit);
    }
  };

  static float score(const KvPage& page, uint32_t slot, const Query& query) {
    float s = 0;
    for (uint32_t b = 0; b < kv_blocks(query.length); ++b) {
      int32_t sum = 0;
      for (uint32_t d = b * kKvBlock; d < std::min((b + 1) * kKvBlock, query.length); ++d) {
        sum += query.codes[d] * key_code(page, slot, d);
      }
      f16_t scale = block_scales(page.k, query.length, b)[slot];
      s = std::fma(static_cast<float>(sum), f16_to_f32(scale), s);
    }
    return s * query.unit;
  }

  static void add(const KvPage& page, const Query&, uint32_t length, Seen seen, const Scores& p,
                  float* acc) {
    std::array<Scores, kMaxHeadDim / kKvBlock> x{};
    float zeros = 0;
    for (uint32_t b = 0; b < kv_blocks(length); ++b) {
      for (uint32_t slot = seen.begin; slot < seen.end; ++slot) {
        x[b][slot] = p[slot] * f16_to_f32(block_scales(page.v, length, b)[slot]);
        zeros += 0.0f * x[b][slot];
      }
    }
    for (uint32_t b = 0; b < kv_blocks(length); ++b) {
      const float highest = *std::max_element(x[b].begin(), x[b].end());
      const float unit = highest * (1.0f / 32767.0f) + zeros;
      for (uint32_t d = b * kKvBlock; d < std::min((b + 1) * kKvBlock, length); ++d) {
        int32_t sum = 0;
        for (uint32_t slot = seen.begin; slot < seen.end; ++slot) {
          sum += rounded(x[b][slot], highest, unit) * value_code(page, length, slot, d);
        }
        acc[d] = std::fma(static_cast<float>(sum), unit, acc[d]);
      }
    }
  }

  static void store(const KvStoreArgs& a) {
    for_codes(a.k, a.key_length, [&](uint32_t d, f16_t scale, int8_t code) {
      block_scales(a.page.k, a.key_length, d / kKvBlock)[a.slot] = scale;
      key_code(a.page, a.slot, d) = code;
    });
    for_codes(a.v, a.value_length, [&](uint32_t d, f16_t scale, int8_t code) {
      block_scales(a.page.v, a.value_length, d / kKvBlock)[a.slot] = scale;
      value_code(a.page, a.value_length, a.slot, d) = code;
    });
  }

  // Calls fn(d, scale, code) for each element of x and of its padding.
  template <typename Fn>
  static void for_codes(const float* x, uint32_t length, Fn&& fn) {
    for (uint32_t d = 0; d < padded_length(length); ++d) {
      const uint32_t begin = d / kKvBlock * kKvBlock;
      const f16_t scale =
          block_scale(x + begin, std::min(kKvBlock, length - std::min(length, begin)));
      fn(d, scale, block_code(d < length ? x[d] : 0, scale));
    }
  }
};

// Elements of a page of latents, and how a position of it is written.
template <typename Type>
struct LatentElements {
  using Element = typename Type::Element;

  static float at(const KvPage& page, uint32_t length, size_t slot, uint32_t d) {
    return Type::widen(elements<Element>(page.k)[slot * padded_length(length) + d]);
  }
  static void store(const KvStoreArgs& a) {
    const size_t padded = padded_length(a.key_length);
    for (size_t d = 0; d < padded; ++d) {
      elements<Element>(a.page.k)[a.slot * padded + d] =
          Type::narrow(d < a.key_length ? a.k[d] : 0);
    }
  }
};

template <>
struct LatentElements<Q8_0> {
  static f16_t& scale(const KvPage& page, uint32_t length, size_t slot, uint32_t d) {
    return elements<f16_t>(page.k +
                           kv_scales_offset(length))[slot * kv_blocks(length) + d / kKvBlock];
  }
  static int8_t& code(const KvPage& page, uint32_t length, size_t slot, uint32_t d) {
    return elements<int8_t>(page.k)[slot * padded_length(length) + d];
  }
  static float at(const KvPage& page, uint32_t length, size_t slot, uint32_t d) {
    return static_cast<float>(code(page, length, slot, d)) *
           f16_to_f32(scale(page, length, slot, d));
  }
  static void store(const KvStoreArgs& a) {
    Page<Q8_0>::for_codes(a.k, a.key_length, [&](uint32_t d, f16_t of_block, int8_t of_element) {
      scale(a.page, a.key_length, a.slot, d) = of_block;
      code(a.page, a.key_length, a.slot, d) = of_element;
    });
  }
};

template <typename Type>
struct Page<Latent<Type>> {
  using Query = FloatQuery;
  using Elements = LatentElements<Type>;

  static float score(const KvPage& page, uint32_t slot, const Query& query) {
    float s = 0;
    for (uint32_t d = 0; d < query.length; ++d) {
      s = std::fma(query.q[d], Elements::at(page, query.length, slot, d), s);
    }
    return s;
  }
  static void add(const KvPage& page, const Query& query, uint32_t length, Seen seen,
                  const Scores& p, float* acc) {
    for (uint32_t d = 0; d < length; ++d) {
      for (uint32_t slot = seen.begin; slot < seen.end; ++slot) {
        acc[d] = std::fma(p[slot], Elements::at(page, query.length, slot, d), acc[d]);
      }
    }
  }
};

// An expanded page.
struct Expanded {};

template <>
struct Page<Expanded> {
  using Query = FloatQuery;

  static float score(const KvPage& page, uint32_t slot, const Query& query) {
    return Page<F32>::score(page, slot, query);
  }
  static void add(const KvPage& page, const Query&, uint32_t length, Seen seen, const Scores& p,
                  float* acc) {
    for (uint32_t d = 0; d < length; ++d) {
      const float* v = elements<float>(page.v) + size_t{d / 64} * 64 * kPagePositions + d % 64;
      for (uint32_t slot = seen.begin; slot < seen.end; ++slot) {
        acc[d] = std::fma(p[slot], v[size_t{slot} * 64], acc[d]);
      }
    }
  }
};

template <typename Type>
void expand(const ExpandArgs& a) {
  const uint32_t cached = a.latent_length + a.turned_length;
  const uint32_t length = a.straight_length + a.turned_length;
  const KvPage page{const_cast<std::byte*>(a.page), nullptr};
  for (uint32_t slot = 0; slot < a.slots; ++slot) {
    std::array<float, kMaxLatentKey> x{};
    for (uint32_t d = 0; d < cached; ++d) {
      x[d] = LatentElements<Type>::at(page, cached, slot, d);
    }
    auto sum = [&](const auto& element) {
      float s = 0;
      for (uint32_t i = 0; i < padded_length(a.latent_length); ++i) {
        s = std::fma(element(i), x[i], s);
      }
      return s;
    };
    for (uint32_t d = 0; d < padded_length(length); ++d) {
      float k = d < length ? x[a.latent_length + d - std::min(d, a.straight_length)] : 0;
      if (d < a.straight_length) {
        k = sum([&](uint32_t i) {
          return a.key[expand_key_at(a.straight_length, a.latent_length, d, i)];
        });
      }
      a.keys[size_t{d} * kPagePositions + slot] = k;
    }
    for (uint32_t e = 0; e < a.value_length; ++e) {
      a.values[(size_t{e / 64} * kPagePositions + slot) * 64 + e % 64] =
          sum([&](uint32_t i) { return a.value[expand_value_at(a.latent_length, e, i)]; });
    }
  }
}

float add_by_halves(std::array<float, 16> lanes) {
  for (uint32_t half = 8; half > 0; half /= 2) {
    for (uint32_t l = 0; l < half; ++l) lanes[l] += lanes[l + half];
  }
  return lanes[0];
}

// The sums that one row has of a span, or of those merged so far.
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

void write_out(const Sums& merged, uint32_t value_length, float* out) {
  float inverse = 1.0f / merged.sum;
  for (uint32_t d = 0; d < value_length; ++d) out[d] = merged.acc[d] * inverse;
}

// One query row; arrays by element of the head.
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

  // `pages`: from number `page0` on.
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
    if (a.out != nullptr) write_out(merged, a.value_length, a.out + a.out_offset[i]);
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
