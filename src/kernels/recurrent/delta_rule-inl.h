// The delta rule of delta_rule.h over Vec16 (kernels/simd/). ISA files include it after their
// Vec16. All rows update a few tiles of columns before they update the next tiles.
#pragma once

#include <algorithm>
#include <cstring>

#include "kernels/recurrent/delta_rule.h"
#include "kernels/simd/unroll.h"

namespace hearth {
namespace {

// kRuleTiles: how many tiles are updated together; they stay in registers and the first-level
// cache. kRuleAhead: whether the pass of a row over them also computes the next row's sum of k[i]
// S[i]. Both sums of two tiles take half of AVX-512's registers; one sum of one tile takes half of
// AVX2's and NEON's.
#ifdef __AVX512F__
constexpr uint32_t kRuleTiles = 2;
constexpr bool kRuleAhead = true;
#else
constexpr uint32_t kRuleTiles = 1;
constexpr bool kRuleAhead = false;
#endif
constexpr uint32_t kRuleChains = 4;

// A sum over the columns of N tiles, as its four chains.
template <int N>
struct RuleSum {
  Vec16 chain[kRuleChains][N];

  RuleSum() {
    for (auto& c : chain) {
      for (Vec16& x : c) x = Vec16::zero();
    }
  }
  Vec16 total(int n) const {
    return add(add(chain[0][n], chain[2][n]), add(chain[1][n], chain[3][n]));
  }
};

// Calls step(c, i) for every i < length. c is i % 4, a constant where the loop is unrolled.
template <typename Step>
[[gnu::always_inline]] inline void for_chains(uint32_t length, const Step& step) {
  const uint32_t whole = length / kRuleChains * kRuleChains;
  for (uint32_t i = 0; i < whole; i += kRuleChains) {
    HEARTH_UNROLL
    for (uint32_t c = 0; c < kRuleChains; ++c) step(c, i + c);
  }
  HEARTH_UNROLL
  for (uint32_t c = 0; c < kRuleChains - 1; ++c) {
    if (whole + c < length) step(c, whole + c);
  }
}

// N tiles of a head's state, `tile_` floats each, and their update by the rows.
template <int N>
class RuleTiles {
 public:
  RuleTiles(const DeltaRuleArgs& a, uint32_t first)
      : a_(a), column_(first * kStateTile), tile_(size_t{a.length} * kStateTile) {}

  void run() {
    float* to = a_.to + column_ * size_t{a_.length};
    const float* from = a_.from == nullptr ? to : a_.from + column_ * size_t{a_.length};
    if (a_.from == nullptr) std::memset(to, 0, N * tile_ * sizeof(float));
    RuleSum<N> p;
    if (a_.rows > 0) recall(0, from, p);
    for (uint32_t t = 0; t < a_.rows; ++t, from = to) {
      if (kRuleAhead && t + 1 < a_.rows) {
        take_row<true>(t, from, to, p);
      } else {
        take_row<false>(t, from, to, p);
        if (t + 1 < a_.rows) recall(t + 1, to, p);
      }
    }
    if (from != to) std::memmove(to, from, N * tile_ * sizeof(float));
  }

 private:
  // Computes p, the sum of k[i] S[i] before row t.
  void recall(uint32_t t, const float* state, RuleSum<N>& p) const {
    const float* k = a_.k + t * a_.key_stride;
    for_chains(a_.length, [&](uint32_t c, uint32_t i) {
      const Vec16 key = Vec16::all(k[i]);
      HEARTH_UNROLL
      for (int n = 0; n < N; ++n) {
        p.chain[c][n] = fma(key, Vec16::load(at(state, n, i)), p.chain[c][n]);
      }
    });
  }

  // Updates the state by row t and writes its output. p is recall()'s sum for row t. If kNext, it
  // becomes the sum for the next row.
  template <bool kNext>
  void take_row(uint32_t t, const float* from, float* to, RuleSum<N>& p) const {
    const Vec16 decay = Vec16::all(a_.decay[t * a_.gate_stride]);
    const Vec16 beta = Vec16::all(a_.beta[t * a_.gate_stride]);
    Vec16 e[N];
    for (int n = 0; n < N; ++n) e[n] = mul(fma(negate(decay), p.total(n), value(t, n)), beta);
    const float *k = a_.k + t * a_.key_stride, *q = a_.q + t * a_.key_stride;
    const float* next = k + a_.key_stride;
    RuleSum<N> o, recalled;
    for_chains(a_.length, [&](uint32_t c, uint32_t i) {
      const Vec16 key = Vec16::all(k[i]), query = Vec16::all(q[i]);
      HEARTH_UNROLL
      for (int n = 0; n < N; ++n) {
        const Vec16 s = fma(key, e[n], mul(decay, Vec16::load(at(from, n, i))));
        store(to + (at(from, n, i) - from), s);
        o.chain[c][n] = fma(query, s, o.chain[c][n]);
        if constexpr (kNext) {
          recalled.chain[c][n] = fma(Vec16::all(next[i]), s, recalled.chain[c][n]);
        }
      }
    });
    p = recalled;
    for (int n = 0; n < N; ++n) give(t, n, mul(o.total(n), Vec16::all(a_.scale)));
  }

  // Returns row i of tile n.
  const float* at(const float* state, int n, uint32_t i) const {
    return state + static_cast<size_t>(n) * tile_ + size_t{i} * kStateTile;
  }
  uint32_t column(int n) const { return column_ + static_cast<uint32_t>(n) * kStateTile; }
  // Returns the columns of tile n without its padding.
  uint32_t width(int n) const { return std::min(a_.columns - column(n), kStateTile); }

  Vec16 value(uint32_t t, int n) const {
    const float* v = a_.v + t * a_.value_stride + column(n);
    return width(n) == kStateTile ? Vec16::load(v) : Vec16::load_part(v, width(n));
  }
  void give(uint32_t t, int n, Vec16 out) const {
    float* to = a_.out + t * a_.out_stride + column(n);
    if (width(n) == kStateTile) {
      store(to, out);
    } else {
      store_part(to, width(n), out);
    }
  }

  const DeltaRuleArgs a_;
  const uint32_t column_;
  const size_t tile_;
};

inline void delta_rule(const DeltaRuleArgs& a) {
  const uint32_t tiles = (a.columns + kStateTile - 1) / kStateTile;
  uint32_t tile = 0;
  for (; tile + kRuleTiles <= tiles; tile += kRuleTiles) RuleTiles<kRuleTiles>(a, tile).run();
  for (; tile < tiles; ++tile) RuleTiles<1>(a, tile).run();
}

}  // namespace
}  // namespace hearth
