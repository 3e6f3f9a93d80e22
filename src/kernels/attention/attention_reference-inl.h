// Pages of keys and values, and of latents, in scalar arithmetic: how elements are read and written
// by the contracts of attention.h and latent.h, and how a page is added to a row's sums. Only
// attention_reference.cc includes it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "base/fp_types.h"
#include "kernels/attention/latent.h"

namespace hearth {
namespace {

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
// The type of a page of latents (kernels/attention/latent.h).
template <typename Type>
struct Latent {};

using Scores = std::array<float, kPagePositions>;
using Key = std::array<float, kMaxLatentKey>;  // room for any key

// The slots of a page that a row sees: [begin, end).
struct Seen {
  uint32_t begin, end;
};

// A query times the scale of scores, in floats.
struct FloatQuery {
  FloatQuery(const float* q_, uint32_t length_) : q(q_), length(length_) {}
  const float* q;
  uint32_t length;
};

// The functions that read and write a page.
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

  // Adds p times the values that the query's row sees to acc[length].
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
// Returns x as a whole number of steps of highest / 32767. Returns 0 if `unit` is not finite, which
// means that an element is not.
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

// Reads elements of a page of latents, and writes a position of it.
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

// The type of a page of expanded latents, which are floats.
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
  const uint32_t cached = a.kv_lora_rank + a.rope_length;
  const uint32_t length = a.nope_length + a.rope_length;
  const KvPage page{const_cast<std::byte*>(a.page), nullptr};
  for (uint32_t slot = 0; slot < a.slots; ++slot) {
    std::array<float, kMaxLatentKey> x{};
    for (uint32_t d = 0; d < cached; ++d) {
      x[d] = LatentElements<Type>::at(page, cached, slot, d);
    }
    auto sum = [&](const auto& element) {
      float s = 0;
      for (uint32_t i = 0; i < padded_length(a.kv_lora_rank); ++i) {
        s = std::fma(element(i), x[i], s);
      }
      return s;
    };
    for (uint32_t d = 0; d < padded_length(length); ++d) {
      float k = d < length ? x[a.kv_lora_rank + d - std::min(d, a.nope_length)] : 0;
      if (d < a.nope_length) {
        k = sum(
            [&](uint32_t i) { return a.key[expand_key_at(a.nope_length, a.kv_lora_rank, d, i)]; });
      }
      a.keys[size_t{d} * kPagePositions + slot] = k;
    }
    for (uint32_t e = 0; e < a.value_length; ++e) {
      a.values[(size_t{e / 64} * kPagePositions + slot) * 64 + e % 64] =
          sum([&](uint32_t i) { return a.value[expand_value_at(a.kv_lora_rank, e, i)]; });
    }
  }
}

}  // namespace
}  // namespace hearth
