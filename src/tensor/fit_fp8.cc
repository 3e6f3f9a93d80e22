#include "tensor/fit_fp8.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/check.h"
#include "tensor/pack_fp8.h"

namespace hearth {
namespace {

constexpr size_t kMostElements = kFp8ScaleBlock, kLanes = 16;
constexpr float kLargestCode = 448, kLeastLargestOf8 = 1e-30f;
// What the largest element becomes: from kLargestCode down, kTries times, a step apart.
constexpr int kTries = 32;
constexpr float kTryStep = 7;

// Sums over codes, each with its element's weight.
struct Fp8Sums {
  double square = 0, product = 0;  // of codes, and of elements times codes
};

// A block, whose largest element becomes 1. What it lacks to whole lanes is zeros.
class Fp8Block {
 public:
  Fp8Block(const float* x, size_t n, const float* weights) {
    for (size_t i = 0; i < n; ++i) {
      largest_ = std::max(largest_, std::fabs(x[i]));
      finite_ = finite_ && std::isfinite(x[i]);
    }
    if (!is_plain()) return;
    lines_ = (n + kLanes - 1) / kLanes;
    std::fill_n(&at_[0][0], lines_ * kLanes, 0.0f);
    std::fill_n(&weights_[0][0], lines_ * kLanes, 1.0f);
    for (size_t i = 0; i < n; ++i) at_[i / kLanes][i % kLanes] = x[i] / largest_;
    if (weights != nullptr) std::memcpy(weights_, weights, n * sizeof *weights);
  }

  bool is_finite() const { return finite_; }
  bool is_plain() const { return finite_ && largest_ >= kLeastLargestOf8; }

  float scale() {
    for (int i = 0; i < kTries; ++i) compare(kLargestCode - kTryStep * static_cast<float>(i));
    const float best = best_;
    if (best == 0) return largest_ / kLargestCode;  // no element counts
    compare(best - kTryStep / 2);
    compare(std::min(best + kTryStep / 2, kLargestCode));
    return static_cast<float>(sums_.product / sums_.square) * largest_;
  }

 private:
  // With the best scale for them, product / square, codes leave an error of x^2 - product^2 /
  // square.
  void compare(float factor) {
    const Fp8Sums sums = sums_of(factor);
    if (!(sums.product * sums.product * sums_.square >
          sums_.product * sums_.product * sums.square)) {
      return;
    }
    sums_ = sums;
    best_ = factor;
  }

  // Codes as if none were subnormal: what these add hardly counts.
  Fp8Sums sums_of(float factor) const {
    float square[kLanes] = {}, product[kLanes] = {};
    for (size_t line = 0; line < lines_; ++line) {
      for (size_t l = 0; l < kLanes; ++l) {
        const float x = at_[line][l];
        const auto bits = std::bit_cast<uint32_t>(x * factor);
        const auto code = std::bit_cast<float>((bits + 0x80000u) & 0xfff00000u);
        const float weighted = code * weights_[line][l];
        square[l] += weighted * code;
        product[l] += weighted * x;
      }
    }
    Fp8Sums sums;
    for (size_t l = 0; l < kLanes; ++l) {
      sums.square += static_cast<double>(square[l]);
      sums.product += static_cast<double>(product[l]);
    }
    return sums;
  }

  float at_[kMostElements / kLanes][kLanes], weights_[kMostElements / kLanes][kLanes];
  size_t lines_ = 0;
  float largest_ = 0;
  bool finite_ = true;
  Fp8Sums sums_{1, 0};  // of the best
  float best_ = 0;
};

}  // namespace

float fit_fp8(const float* x, size_t n, const float* weights, e4m3_t* codes) {
  HEARTH_CHECK(n <= kMostElements, "a block is of 128 elements at most");
  Fp8Block block(x, n, weights);
  if (!block.is_plain()) {
    std::fill_n(codes, n, block.is_finite() ? e4m3_t{0} : e4m3_t{0x7f});
    return block.is_finite() ? 0.0f : 1.0f;
  }
  const float scale = block.scale();
  for (size_t i = 0; i < n; ++i) codes[i] = f32_to_e4m3(x[i] / scale);
  return scale;
}

}  // namespace hearth
