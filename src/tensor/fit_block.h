// Fits the scale, or the scale and the minimum, of blocks of elements that share one: those with
// which whole codes come nearest to the elements by least squares, weighted where there is a weight
// for each. The codes of a fixed row of candidates are compared, each with the best scale for them.
//
// As many blocks as a register has lanes are fitted at once, by code for each level of
// instructions. Candidates' codes and their sums are whole numbers of 16 and 32 bits, which the
// elements, in proportion to the largest of a block, are rounded to first; what is computed of
// these, and sums with weights, is binary32 in one order for each block. So nothing depends on the
// level or on the blocks beside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hearth {

// Blocks of so many elements with codes from `low` to `high`: x ~ scale code - min. Where `low` is
// 0 neither scale nor minimum is negative; else there is no minimum, and the scale may be negative
// where there is one more code below 0 than above. There are these five.
struct CodeKind {
  size_t elements;
  int low, high;
};
inline constexpr CodeKind kCodes8{32, -127, 127}, kCodes6{16, -32, 31}, kCodes4{32, -8, 7};
inline constexpr CodeKind kMinCodes5{32, 0, 31}, kMinCodes4{32, 0, 15};

inline constexpr size_t kFp8Elements = 128;

struct ScaleAndMin {
  float scale, min;
};

// The functions that are compiled for one level of instructions.
struct FitLevel {
  const char* name;
  // Fits `blocks` blocks of x. `weights` is null or has one for each element, none of them
  // negative. A block with an element that is no finite number gets a scale of NaN.
  void (*fit)(const CodeKind& kind, const float* x, size_t blocks, const float* weights,
              ScaleAndMin* fitted);
  // Writes for each element of the blocks the code that is nearest to (x + min) / scale; 0 where
  // the scale is 0 or NaN, and the lowest code for an element that is NaN.
  void (*nearest)(const CodeKind& kind, const float* x, size_t blocks, const ScaleAndMin* of,
                  int8_t* codes);
  // Quantises `lanes` blocks of kFp8Elements to FP8, with a scale for each (tensor/fit_fp8.h).
  void (*fp8)(const float* x, const float* weights, float* scales, uint8_t* codes);
  size_t lanes;
};

// Returns the levels of instructions that this processor has, slowest first.
std::span<const FitLevel* const> fit_levels();

// One for each level. Those of other processor families are declared, but not linked.
extern const FitLevel kFitPlain, kFitAvx2, kFitAvx512, kFitNeon;

}  // namespace hearth
