#include "tensor/fit_block.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace hearth {
namespace {

constexpr float kLeastLargest = 1e-30f;  // below it a block counts as zeros

// Elements in proportion to the largest, which becomes kWhole: x ~ unit * at.
template <size_t N, int kWhole>
struct WholeBlock {
  int16_t at[N];
  float unit;  // 0 of zeros; NaN where an element is no finite number

  explicit WholeBlock(const float* x) {
    int32_t largest = 0;
    for (size_t i = 0; i < N; ++i) {
      const int32_t bits = std::bit_cast<int32_t>(x[i]) & 0x7fffffff;
      largest = largest > bits ? largest : bits;
    }
    const auto most = std::bit_cast<float>(largest);
    unit = most < kLeastLargest ? 0 : most / kWhole;
    if (!std::isfinite(most)) unit = std::numeric_limits<float>::quiet_NaN();
    if (!is_plain()) return;
    const float inverse = kWhole / most;
    for (size_t i = 0; i < N; ++i) {
      at[i] = static_cast<int16_t>(static_cast<int32_t>(x[i] * inverse));
    }
  }
  bool is_plain() const { return unit > 0; }
};

// The code of a whole number is it times a factor / 2^(16 + bits), rounded.
struct WholeCodes {
  CodeRange range;
  int bits;
  int most;  // the largest factor
};

[[gnu::always_inline]] inline int16_t whole_code(const WholeCodes& codes, int16_t x,
                                                 int16_t factor) {
  const auto half = static_cast<int16_t>(1 << (codes.bits - 1));
  const auto low = static_cast<int16_t>(codes.range.low);
  const auto high = static_cast<int16_t>(codes.range.high);
  auto code = static_cast<int16_t>((x * factor) >> 16);
  code = static_cast<int16_t>(static_cast<int16_t>(code + half) >> codes.bits);
  if (codes.most >> (codes.bits + 1) <= high) return code;  // none is beyond the range
  code = code < low ? low : code;
  return code > high ? high : code;
}

// Blocks of which the largest element is 32767 have the code factor / 2^(bits + 1) for it. Factors
// from codes.most down to `last` are compared, and then those half a step beside the best.
struct ScaleSearch {
  WholeCodes codes;
  int last, step;
};
constexpr ScaleSearch kSearch8{{kCodes8, 1, 510}, 448, 2};
constexpr ScaleSearch kSearch6{{kCodes6, 4, 1088}, 768, 16};
constexpr ScaleSearch kSearch4{{kCodes4, 6, 1216}, 704, 32};

// Sums over codes, each with its element's weight.
struct ScaleSums {
  double square, product;  // of codes, and of elements times codes
};

// Inlined into a loop over candidates it would not be vectorised.
template <size_t N, const ScaleSearch& kSearch>
[[gnu::noinline]] ScaleSums scale_sums(const int16_t* x, int16_t factor) {
  int32_t square = 0, product = 0;
  for (size_t i = 0; i < N; ++i) {
    const int16_t code = whole_code(kSearch.codes, x[i], factor);
    square += code * code;
    product += x[i] * code;
  }
  return {static_cast<double>(square), static_cast<double>(product)};
}

template <size_t N, const ScaleSearch& kSearch>
[[gnu::noinline]] ScaleSums weighted_sums(const int16_t* x, int16_t factor, const float* weights) {
  ScaleSums sums{0, 0};
  for (size_t i = 0; i < N; ++i) {
    const double code = whole_code(kSearch.codes, x[i], factor);
    sums.square += weights[i] * (code * code);
    sums.product += weights[i] * (x[i] * code);
  }
  return sums;
}

template <size_t N, const ScaleSearch& kSearch>
class ScaleFit {
 public:
  ScaleFit(const float* x, const float* weights) : x_(x), weights_(weights) {}

  float scale() {
    if (!x_.is_plain()) return x_.unit;
    const int sign = largest_sign();
    for (int m = kSearch.codes.most; m >= kSearch.last; m -= kSearch.step) compare(sign * m);
    const int best = best_;
    compare(best - kSearch.step / 2);
    compare(best + kSearch.step / 2);
    return static_cast<float>(sums_.product / sums_.square) * x_.unit;
  }

 private:
  // The largest element gets a code of the side that has one more.
  int largest_sign() const {
    if (kSearch.codes.range.low == -kSearch.codes.range.high) return 1;
    int16_t least = 0, most = 0;
    for (const int16_t at : x_.at) {
      least = least < at ? least : at;
      most = most > at ? most : at;
    }
    return most > -least ? -1 : 1;
  }

  // With the best scale for them, product / square, codes leave an error of x^2 - product^2 /
  // square.
  void compare(int m) {
    const auto factor = static_cast<int16_t>(m);
    const ScaleSums sums = weights_ == nullptr ? scale_sums<N, kSearch>(x_.at, factor)
                                               : weighted_sums<N, kSearch>(x_.at, factor, weights_);
    if (!(sums.product * sums.product * sums_.square >
          sums_.product * sums_.product * sums.square)) {
      return;
    }
    sums_ = sums;
    best_ = m;
  }

  WholeBlock<N, 32767> x_;
  const float* weights_;
  ScaleSums sums_{1, 0};  // of the best
  int best_ = 0;
};

template <size_t N>
float fit_scale_of(const float* x, int high, const float* weights) {
  if (high == kCodes8.high) return ScaleFit<N, kSearch8>(x, weights).scale();
  if (high == kCodes6.high) return ScaleFit<N, kSearch6>(x, weights).scale();
  return ScaleFit<N, kSearch4>(x, weights).scale();
}

// Of codes without a sign elements are counted from the place of code 0 on.
template <int kHigh>
constexpr WholeCodes kMinCodes{{0, kHigh}, 7, 32767};
constexpr int kMinWhole = 16383;

struct MinSums {
  double code, square, product;
};

template <int kHigh>
[[gnu::noinline]] MinSums min_sums(const int16_t* above, const int16_t* x, int16_t offset,
                                   int16_t factor) {
  int32_t square = 0, product = 0;
  int16_t sum = 0;
  for (size_t i = 0; i < 32; ++i) {
    const int16_t code =
        whole_code(kMinCodes<kHigh>, static_cast<int16_t>(above[i] - offset), factor);
    sum = static_cast<int16_t>(sum + code);
    square += code * code;
    product += x[i] * code;
  }
  return {static_cast<double>(sum), static_cast<double>(square), static_cast<double>(product)};
}

template <int kHigh>
[[gnu::noinline]] MinSums weighted_sums(const int16_t* above, const int16_t* x, int16_t offset,
                                        int16_t factor, const float* weights) {
  MinSums sums{0, 0, 0};
  for (size_t i = 0; i < 32; ++i) {
    const double code =
        whole_code(kMinCodes<kHigh>, static_cast<int16_t>(above[i] - offset), factor);
    sums.code += weights[i] * code;
    sums.square += weights[i] * (code * code);
    sums.product += weights[i] * (x[i] * code);
  }
  return sums;
}

template <int kHigh>
class MinFit {
 public:
  MinFit(const float* x, const float* weights) : x_(x), weights_(weights) {}

  ScaleAndMin fit() {
    if (!x_.is_plain()) return {x_.unit, 0};
    prepare();
    // Steps of codes that reach from a bit less than the range to a fifth less, from least on or a
    // bit above it.
    for (int i = 0; i < kSteps; ++i) {
      const double step = range_ / (kHigh * (0.96 + 0.26 * i / kSteps));
      const int16_t factor = factor_of(step);
      for (int shift = 0; shift < kShifts; ++shift) compare(shift * step / kShifts, factor);
    }
    for (int again = 0; again < 2 && scale_ > 0; ++again) {
      compare(-least_ - min_, factor_of(scale_));
    }
    return {static_cast<float>(scale_) * x_.unit, static_cast<float>(min_) * x_.unit};
  }

 private:
  static constexpr int kSteps = kHigh == 15 ? 6 : 12, kShifts = kHigh == 15 ? 4 : 3;

  static int16_t factor_of(double step) {
    return static_cast<int16_t>(
        std::min((1 << (16 + kMinCodes<kHigh>.bits)) / step + 0.5, 32767.0));
  }

  void prepare() {
    int16_t least = 0, most = 0;
    for (const int16_t at : x_.at) {
      least = least < at ? least : at;
      most = most > at ? most : at;
    }
    least_ = least;
    range_ = most - least;
    for (size_t i = 0; i < 32; ++i) {
      above_[i] = static_cast<int16_t>(x_.at[i] - least);
      const double weight = weights_ == nullptr ? 1 : weights_[i];
      weight_ += weight;
      sum_ += weight * x_.at[i];
    }
    each_ = 1 / weight_;
  }

  // With the best scale and minimum for them codes leave an error of x^2 - gain.
  void compare(double offset, int16_t factor) {
    const auto from = static_cast<int16_t>(std::clamp(offset + 0.5, 0.0, 16383.0));
    const MinSums sums = weights_ == nullptr
                             ? min_sums<kHigh>(above_, x_.at, from, factor)
                             : weighted_sums<kHigh>(above_, x_.at, from, factor, weights_);
    const double square = weight_ * sums.square - sums.code * sums.code;
    double scale = 0, min = -1;
    if (square > 0) {
      scale = (weight_ * sums.product - sum_ * sums.code) / square;
      min = (scale * sums.code - sum_) * each_;
    }
    if (!(min >= 0)) {
      min = 0;
      scale = sums.square > 0 ? sums.product / sums.square : 0;
    }
    const double gain = scale * sums.product - min * sum_;
    if (!(scale >= 0 && gain > gain_)) return;
    scale_ = scale;
    min_ = min;
    gain_ = gain;
  }

  WholeBlock<32, kMinWhole> x_;
  const float* weights_;
  int16_t above_[32];
  double least_ = 0, range_ = 0, weight_ = 0, each_ = 0, sum_ = 0;
  double scale_ = 0, min_ = 0, gain_ = 0;  // of the best
};

template <size_t N>
void nearest_codes_of(const float* x, CodeRange range, ScaleAndMin of, int8_t* codes) {
  constexpr float kRounding = 0x1.8p23f;  // adding it rounds to a whole number
  const float inverse = of.scale != 0 && of.scale == of.scale ? 1 / of.scale : 0;
  const auto low = static_cast<float>(range.low), high = static_cast<float>(range.high);
  int32_t whole[N];
  for (size_t i = 0; i < N; ++i) {
    float code = (x[i] + of.min) * inverse;
    code = code > low ? code : low;  // of NaN too
    code = code < high ? code : high;
    whole[i] = static_cast<int32_t>((code + kRounding) - kRounding);
  }
  for (size_t i = 0; i < N; ++i) codes[i] = static_cast<int8_t>(whole[i]);
}

}  // namespace

float fit_scale(const float* x, size_t n, CodeRange range, const float* weights) {
  HEARTH_CHECK(n == 16 || n == 32, "blocks are of 16 or 32 elements");
  return n == 16 ? fit_scale_of<16>(x, range.high, weights)
                 : fit_scale_of<32>(x, range.high, weights);
}

ScaleAndMin fit_scale_and_min(const float* x, int high, const float* weights) {
  return high == 15 ? MinFit<15>(x, weights).fit() : MinFit<31>(x, weights).fit();
}

void nearest_codes(const float* x, size_t n, CodeRange range, ScaleAndMin of, int8_t* codes) {
  if (n == 16) return nearest_codes_of<16>(x, range, of, codes);
  for (size_t i = 0; i < n; i += 32) nearest_codes_of<32>(x + i, range, of, codes + i);
}

}  // namespace hearth
