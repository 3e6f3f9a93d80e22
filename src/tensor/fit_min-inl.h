// Fits scales and minima of kLanes blocks at once: x ~ scale code - min.
#pragma once

#include "tensor/fit_scale-inl.h"

namespace hearth {
namespace {

// Elements are counted from the block's least element, or from 0 if none is negative. They are
// scaled so that the block's range becomes kWholeRange. A candidate's codes span between 1 / `most`
// and 1 / `least` of that range. They begin at the least element, or less than a step of codes
// above it. The best scale and minimum for the best candidate's codes are tried next, and then the
// best scale with minima kBeside above and below.
constexpr int kWholeRange = 1023;
constexpr float kBeside = 0.1f;  // in steps of codes
struct MinSearch {
  CodeKind kind;
  int steps, shifts;
  float least, most;
};
constexpr MinSearch kMinSearch4{kMinCodes4, 5, 2, 0.98f, 1.204f};
constexpr MinSearch kMinSearch5{kMinCodes5, 12, 2, 0.98f, 1.182f};
// These try more candidates, which gains more if elements have weights and few have a large one.
constexpr MinSearch kWeightedMin4{kMinCodes4, 6, 4, 0.96f, 1.18f};
constexpr MinSearch kWeightedMin5{kMinCodes5, 12, 3, 0.96f, 1.2f};

// Blocks whose elements x were scaled to whole numbers: x ~ unit * at + least.
struct RangedBlocks {
  LaneFloats at[32];
  LaneFloats unit;   // 0 for a block of equal elements; NaN if one is not finite
  LaneFloats least;  // not above 0

  explicit RangedBlocks(const float* x) {
    load_blocks(x, at);
    LaneFloats most = at[0];
    least = floats(0);
    for (const LaneFloats& element : at) {
      most = element > most ? element : most;
      least = element < least ? element : least;
    }
    const LaneInts largest = largest_bits(at);
    const LaneFloats range = most - least;
    const auto finite = (largest < kInfiniteBits) & ((LaneInts)range < kInfiniteBits);
    const auto plain = finite & (range >= kMinMagnitude);
    const LaneFloats inverse = plain ? float{kWholeRange} / range : floats(0);
    unit = plain ? range / float{kWholeRange} : floats(0);
    unit = finite ? unit : floats(__builtin_nanf(""));
    for (LaneFloats& element : at) element = (element - least) * inverse;
  }
};

template <typename Terms, const MinSearch& kSearch>
class MinFit {
 public:
  MinFit(const float* x, const float* weights) : MinFit(RangedBlocks(x), weights) {}

  // Sets `min` to the minima and returns the scales.
  LaneFloats scale_and(LaneFloats& min) {
    best_ = sums_of(floats(0), step_at(kSearch.least));  // for a block of equal elements
    for (int i = 0; i < kSearch.steps; ++i) {
      const float part = static_cast<float>(i) / static_cast<float>(kSearch.steps - 1);
      const float reach = kSearch.least + (kSearch.most - kSearch.least) * part;
      const LaneFloats step = step_at(reach);
      for (int shift = 0; shift < kSearch.shifts; ++shift) {
        compare(step * (static_cast<float>(shift) / kSearch.shifts), step);
      }
    }
    fit_best();
    compare(offset_, scale_);
    fit_best();
    const LaneFloats offset = offset_, step = scale_;
    compare(offset + step * kBeside, step);
    compare(offset - step * kBeside, step);
    fit_best();
    min = -least_ - offset_ * unit_;
    // Elements are measured from 0 if there is no minimum; 0 is `zero_` among the scaled elements.
    const LaneFloats product = best_.product - zero_ * best_.code;
    const auto below = min < 0;
    scale_ = (below & (best_.square > 0)) ? product / best_.square : scale_;
    min = below ? floats(0) : min;
    return scale_ * unit_;
  }

 private:
  MinFit(const RangedBlocks& x, const float* weights)
      : terms_(x.at, weights),
        weight_(terms_.weight()),
        elements_(terms_.elements()),
        unit_(x.unit),
        least_(x.least) {
    const LaneFloats zero = -x.least / x.unit;
    zero_ = x.unit > 0 ? zero : floats(0);
  }

  static LaneFloats within(LaneFloats x, LaneFloats most) {
    x = x < most ? x : most;
    return x > 0 ? x : floats(0);
  }

  static LaneFloats step_at(float reach) {
    return floats(kWholeRange / (reach * float{kSearch.kind.high}));
  }

  // Returns the sums of the codes for which offset + step * code is nearest to the elements.
  LaneSums sums_of(LaneFloats offset, LaneFloats step) const {
    const LaneFloats from = within(within(offset, zero_), floats(kWholeRange));
    const LaneFloats inverse = within(32768 / step, floats(32767));
    const LanePairs low = whole_pairs(from, from), factor = whole_pairs(inverse, inverse);
    return terms_.sums([low, factor](LanePairs x) {
      return min_of(mul_round(less_or_zero(x, low), factor), pairs(kSearch.kind.high));
    });
  }

  // Compares candidates by the error of their codes with the best scale and minimum for these. The
  // error is the weighted sum of squares of the elements less their mean, minus part^2 / (whole *
  // sum of weights). So the candidate with the largest part^2 / whole is the best.
  void compare(LaneFloats offset, LaneFloats step) {
    const LaneSums sums = sums_of(offset, step);
    const LaneFloats part = weight_ * sums.product - elements_ * sums.code;
    const LaneFloats whole = weight_ * sums.square - sums.code * sums.code;
    const auto better = (part * part * whole_ > part_ * part_ * whole) & (whole > 0);
    best_.code = better ? sums.code : best_.code;
    best_.square = better ? sums.square : best_.square;
    best_.product = better ? sums.product : best_.product;
    part_ = better ? part : part_;
    whole_ = better ? whole : whole_;
  }

  // Sets the scale and the offset, which is the value of code 0, to the best ones for the best
  // codes so far.
  void fit_best() {
    scale_ = part_ / whole_;
    offset_ = (elements_ - scale_ * best_.code) / weight_;
  }

  Terms terms_;
  LaneFloats weight_, elements_;    // the sum of weights, and the weighted sum of elements
  LaneFloats unit_, least_, zero_;  // `zero_` is the scaled element that stands for 0
  LaneSums best_{};
  LaneFloats part_{}, whole_ = floats(1);  // of the best candidate
  LaneFloats scale_{}, offset_{};
};

}  // namespace
}  // namespace hearth
