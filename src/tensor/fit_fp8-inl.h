// Quantises kLanes blocks at once to FP8 E4M3, one block in each lane (tensor/fit_fp8.h).
#pragma once

#include "tensor/fit_block.h"
#include "tensor/lanes-inl.h"

namespace hearth {
namespace {

constexpr float kLargestFp8 = 448;
// The number of scales that are tried. The first maps the largest element to kLargestFp8, and each
// further one to a value kFp8Step lower.
constexpr int kFp8Tries = 32;
constexpr float kFp8Step = 7;

using LaneBytes [[gnu::vector_size(kLanes)]] = uint8_t;

// Returns the E4M3 codes of floats, rounded to nearest even; 0x7f for NaN.
LaneBits fp8_codes(LaneFloats x) {
  constexpr uint32_t kMinNormal = 0x3c800000;  // 2^-6
  const LaneBits bits = (LaneBits)x, size = bits & 0x7fffffff;
  LaneBits within = (LaneBits)floats(kLargestFp8);
  within = size < within ? size : within;
  const LaneBits normal = (within + 0x7ffff + (within >> 20 & 1) - 0x3c000000) >> 20;
  // Adding 2^14 aligns the mantissa, so that the hardware rounds at 2^-9.
  const LaneBits subnormal = (LaneBits)((LaneFloats)within + 0x1p14f) - 0x46800000;
  LaneBits code = within < kMinNormal ? subnormal : normal;
  code = size > uint32_t{kInfiniteBits} ? LaneBits{} + 0x7f : code;
  return code | (bits >> 24 & 0x80);
}

class Fp8Fit {
 public:
  Fp8Fit(const float* x, const float* weights) {
    load_blocks(x, at_);
    const LaneInts largest = largest_bits(at_);
    finite_ = largest < kInfiniteBits;
    largest_ = (LaneFloats)largest;
    const auto plain = finite_ & (largest_ >= kMinMagnitude);
    inverse_ = plain ? 1 / largest_ : floats(0);
    if (weights == nullptr) return;
    weighted_ = true;
    load_weights(weights, weights_);
  }

  // Returns the best scale of each block: 0 for a block of zeros, 1 for a block with an element
  // that is not finite.
  LaneFloats scale() {
    for (int i = 0; i < kFp8Tries; ++i) {
      compare(floats(kLargestFp8 - kFp8Step * static_cast<float>(i)));
    }
    const LaneFloats best = best_, above = best + kFp8Step / 2;
    compare(best - kFp8Step / 2);
    compare(above < kLargestFp8 ? above : floats(kLargestFp8));
    LaneFloats scale = product_ / square_ * largest_;
    scale = product_ > 0 ? scale : largest_ / kLargestFp8;  // if all weights are 0
    scale = inverse_ > 0 ? scale : floats(0);
    return finite_ ? scale : floats(1);
  }

  // Returns the codes of element i of each block.
  LaneBits codes(size_t i, LaneFloats scale) const {
    const LaneFloats x = finite_ ? at_[i] : floats(__builtin_nanf(""));
    return fp8_codes(scale > 0 ? x / scale : floats(0));
  }

 private:
  // Compares a candidate with the best one so far by the error of its codes with the best scale for
  // these. That scale is product / square, and the error x^2 - product^2 / square. Subnormal codes
  // are rounded like normal ones here, since they hardly add to the error.
  void compare(LaneFloats largest) {
    const LaneFloats factor = largest * inverse_;
    LaneFloats square{}, product{};
    for (size_t i = 0; i < kFp8Elements; ++i) {
      const auto code = (LaneFloats)(((LaneBits)(at_[i] * factor) + 0x80000) & 0xfff00000);
      const LaneFloats counted = weighted_ ? code * weights_[i] : code;
      square += counted * code;
      product += counted * (at_[i] * inverse_);
    }
    const auto better = product * product * square_ > product_ * product_ * square;
    square_ = better ? square : square_;
    product_ = better ? product : product_;
    best_ = better ? largest : best_;
  }

  LaneFloats at_[kFp8Elements], weights_[kFp8Elements];
  LaneFloats largest_, inverse_;
  LaneInts finite_;
  bool weighted_ = false;
  LaneFloats square_ = floats(1), product_{},
             best_{};  // the best candidate's sums, and its largest element
};

void fit_fp8_lanes(const float* x, const float* weights, float* scales, uint8_t* codes) {
  Fp8Fit fit(x, weights);
  const LaneFloats scale = fit.scale();
  std::memcpy(scales, &scale, sizeof scale);
  for (size_t i = 0; i < kFp8Elements; i += kLanes) {
    LaneFloats tile[kLanes];
    for (size_t j = 0; j < kLanes; ++j) tile[j] = (LaneFloats)fit.codes(i + j, scale);
    transpose(tile);
    for (size_t b = 0; b < kLanes; ++b) {
      const auto bytes = __builtin_convertvector((LaneBits)tile[b], LaneBytes);
      std::memcpy(codes + b * kFp8Elements + i, &bytes, sizeof bytes);
    }
  }
}

}  // namespace
}  // namespace hearth
