// The sums of FP8 (gemm_fp8-inl.h) for levels that multiply bf16 in pairs of elements of K. Before
// this file a level includes its Vec16 and defines Fp8Pairs and
//   Bf16Pair bf16_pairs(Codes c); Bf16Pair all_bf16_pair(const bf16_t* p)
//   Vec16 add_pairs(Bf16Pair w, Bf16Pair x, Vec16 acc)
#pragma once

#include "kernels/gemm/gemm_vec16-inl.h"

namespace hearth {
namespace {

struct Fp8ByPairs {
  using Step = Fp8Pairs;
  using Element = bf16_t;
  struct Four {
    Bf16Pair first, second;
  };

  static Four all(const bf16_t* x) { return {all_bf16_pair(x), all_bf16_pair(x + 2)}; }
  static Vec16 add(const Fp8Pairs& w, const Four& x, Vec16 sum) {
    sum = add_pairs(bf16_pairs(w.first), x.first, sum);
    return add_pairs(bf16_pairs(w.second), x.second, sum);
  }
};

template <int R>
using Fp8Sums = LaneSums<Fp8ByPairs, R>;

}  // namespace
}  // namespace hearth
