// Fits scales of kLanes blocks at once: x ~ scale code.
#pragma once

#include "tensor/fit_block.h"
#include "tensor/fit_terms-inl.h"

namespace hearth {
namespace {

// The largest element of a block becomes kWholeLargest, and its code factor / 8. Factors from
// `most` down to `last` are compared, and then two at a distance of `beside` from the best.
constexpr int kWholeLargest = 4095;
struct ScaleSearch {
  CodeKind kind;
  int most, last, step, beside;
};
constexpr ScaleSearch kSearch8{kCodes8, 1018, 903, 5, 2};
constexpr ScaleSearch kSearch6{kCodes6, 264, 200, 8, 3};
constexpr ScaleSearch kSearch4{kCodes4, 70, 54, 4, 2};
// These try more candidates, which gains more if elements have weights and few have a large one.
constexpr ScaleSearch kWeighted8{kCodes8, 1018, 894, 4, 2};
constexpr ScaleSearch kWeighted6{kCodes6, 272, 192, 4, 2};
constexpr ScaleSearch kWeighted4{kCodes4, 76, 44, 2, 1};

// A block's elements in proportion to the largest: x ~ unit * at. If the kind has one more code
// below 0, the largest element is made negative, and `unit` takes its sign.
template <const ScaleSearch& kSearch>
struct ProportionalBlocks {
  static constexpr size_t kSize = kSearch.kind.elements;
  LaneFloats at[kSize];
  LaneFloats unit;  // 0 for zeros; NaN if an element is not finite

  explicit ProportionalBlocks(const float* x) {
    load_blocks(x, at);
    const LaneInts largest = largest_bits(at);
    const auto size = (LaneFloats)largest;
    const auto plain = (size >= kMinMagnitude) & (largest < kInfiniteBits);
    LaneFloats inverse = plain ? float{kWholeLargest} / size : floats(0);
    unit = plain ? size / float{kWholeLargest} : floats(0);
    if constexpr (kSearch.kind.low != -kSearch.kind.high) {
      LaneInts most{};
      for (const LaneFloats& element : at) {
        const auto bits = (LaneInts)element;
        most = bits > most ? bits : most;
      }
      inverse = most == largest ? -inverse : inverse;
      unit = most == largest ? -unit : unit;
    }
    unit = largest < kInfiniteBits ? unit : floats(__builtin_nanf(""));
    for (LaneFloats& element : at) element *= inverse;
  }
};

template <typename Terms, const ScaleSearch& kSearch>
class ScaleFit {
 public:
  ScaleFit(const float* x, const float* weights)
      : ScaleFit(ProportionalBlocks<kSearch>(x), weights) {}

  LaneFloats scale() {
    for (int m = kSearch.most; m >= kSearch.last; m -= kSearch.step) compare(pairs(m));
    const auto best = (LanePairs)best_;
    compare(best - pairs(kSearch.beside));
    compare(best + pairs(kSearch.beside));
    return product_ / square_ * unit_;
  }

 private:
  ScaleFit(const ProportionalBlocks<kSearch>& x, const float* weights)
      : terms_(x.at, weights), unit_(x.unit) {}

  // Compares a candidate with the best one so far by the error of its codes with the best scale for
  // these. That scale is product / square, and the error x^2 - product^2 / square. The candidate's
  // codes are those of `factor`.
  void compare(LanePairs factor) {
    const LaneSums sums = terms_.sums([factor](LanePairs x) {
      const LanePairs code = mul_round(x, factor);
      if constexpr (kSearch.most / 8 <= kSearch.kind.high) return code;  // no code is out of range
      return min_of(max_of(code, pairs(kSearch.kind.low)), pairs(kSearch.kind.high));
    });
    const auto better = sums.product * sums.product * square_ > product_ * product_ * sums.square;
    square_ = better ? sums.square : square_;
    product_ = better ? sums.product : product_;
    best_ = better ? (LaneInts)factor : best_;
  }

  Terms terms_;
  LaneFloats unit_;
  LaneFloats square_ = floats(1), product_{};  // of the best candidate; best_ is its factor
  LaneInts best_{};
};

}  // namespace
}  // namespace hearth
