// The sums over blocks' codes by which a fit compares candidates, one block in each lane.
#pragma once

#include "tensor/lanes-inl.h"

namespace hearth {
namespace {

// Sums over a block's elements, each with its weight.
struct LaneSums {
  LaneFloats code, square, product;  // of codes, of their squares, and of elements times codes
};

// Sums with equal weights. They are whole numbers, which binary32 holds exactly except the largest
// sums of products of elements.
template <size_t N>
class EvenTerms {
 public:
  // The elements are rounded to whole numbers below 2^12.
  EvenTerms(const LaneFloats (&x)[N], const float*) {
    for (size_t i = 0; i < N / 2; ++i) x_[i] = whole_pairs(x[2 * i], x[2 * i + 1]);
  }

  LaneFloats weight() const { return floats(float{N}); }
  LaneFloats elements() const {
    LaneInts sum{};
    for (const LanePairs& x : x_) sum = add_products(sum, x, pairs(1));
    return floats(sum);
  }

  // Returns the sums of the codes that code_of(LanePairs) gives for elements.
  template <typename CodeOf>
  LaneSums sums(CodeOf&& code_of) const {
    LanePairs code{};
    LaneInts square{}, product{};
#pragma GCC unroll 16
    for (size_t i = 0; i < N / 2; ++i) {
      const LanePairs c = code_of(x_[i]);
      code += c;
      square = add_products(square, c, c);
      product = add_products(product, x_[i], c);
    }
    return {floats(add_products(LaneInts{}, code, pairs(1))), floats(square), floats(product)};
  }

 private:
  LanePairs x_[N / 2];
};

// Computes the same sums with a weight for each element. A weight is taken in proportion to the
// block's largest weight, and is at least a hundred-thousandth of it, since sums in binary32 are no
// more exact. If all weights are 0 they count as equal.
template <size_t N>
class WeightedTerms {
 public:
  WeightedTerms(const LaneFloats (&x)[N], const float* weights) {
    load_weights(weights, weights_);
    for (LaneFloats& weight : weights_) weight = weight > 1e-5f ? weight : floats(1e-5f);
    for (size_t i = 0; i < N / 2; ++i) {
      x_[i] = whole_pairs(x[2 * i], x[2 * i + 1]);
      products_[2 * i] = weights_[2 * i] * floats(first_of(x_[i]));
      products_[2 * i + 1] = weights_[2 * i + 1] * floats(second_of(x_[i]));
    }
  }

  LaneFloats weight() const { return sum_of(weights_); }
  LaneFloats elements() const { return sum_of(products_); }

  template <typename CodeOf>
  LaneSums sums(CodeOf&& code_of) const {
    LaneSums sums{};
    for (size_t i = 0; i < N / 2; ++i) {
      const LanePairs c = code_of(x_[i]);
      add(2 * i, floats(first_of(c)), sums);
      add(2 * i + 1, floats(second_of(c)), sums);
    }
    return sums;
  }

 private:
  static LaneFloats sum_of(const LaneFloats (&terms)[N]) {
    LaneFloats sum{};
    for (const LaneFloats& term : terms) sum += term;
    return sum;
  }
  void add(size_t i, LaneFloats code, LaneSums& sums) const {
    const LaneFloats weighted = weights_[i] * code;
    sums.code += weighted;
    sums.square += weighted * code;
    sums.product += products_[i] * code;
  }

  LanePairs x_[N / 2];
  LaneFloats weights_[N], products_[N];  // products of weights and elements
};

}  // namespace
}  // namespace hearth
