// Fits the scale, or the scale and the minimum, of a block of elements that share one: those with
// which whole codes come nearest to the elements by least squares, weighted where there is a weight
// for each. The codes of a fixed row of candidates are compared, each with the best scale for them.
//
// The candidates' codes and their sums are whole numbers of 16 and 32 bits, which x, in proportion
// to the largest of a block, is rounded to first. So nothing depends on vectors or their order. A
// block with an element that is no finite number has a scale of NaN.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth {

// Codes from `low` to `high`. There are these three.
struct CodeRange {
  int low, high;
};
inline constexpr CodeRange kCodes8{-127, 127}, kCodes6{-32, 31}, kCodes4{-8, 7};

// Returns d of x ~ d code, of n = 16 or 32 elements; of kCodes6 and kCodes4 it may be negative.
// `weights` is null or has one for each element, none of them negative.
float fit_scale(const float* x, size_t n, CodeRange range, const float* weights = nullptr);

// x ~ scale code - min, neither of them negative.
struct ScaleAndMin {
  float scale, min;
};
// Of 32 elements, with codes from 0 to `high`, which is 15 or 31.
ScaleAndMin fit_scale_and_min(const float* x, int high, const float* weights = nullptr);

// Writes for each of 16 or 32 elements the code that is nearest to (x + min) / scale; 0, or `low`
// above it, where the scale is 0 or NaN.
void nearest_codes(const float* x, size_t n, CodeRange range, ScaleAndMin of, int8_t* codes);

}  // namespace hearth
