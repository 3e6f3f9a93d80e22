// Fits one scale, or one scale and one minimum, to each block of elements. The best ones minimise
// the squared error of what the block's codes, which are whole numbers, stand for. If elements have
// weights, each squared error is multiplied by its element's weight. The codes of a fixed series of
// candidates are compared, each with the best scale for these codes.
//
// Code for each level of instructions fits as many blocks at once as a register has lanes. It first
// rounds the elements to whole numbers in proportion to the block's largest element. Candidates'
// codes and their sums are then whole numbers of 16 and 32 bits. Numbers computed from these, and
// weighted sums, are binary32 in one order for each block. So no result depends on the level or on
// neighbouring blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hearth {

// A kind of blocks: `elements` elements with codes from `low` to `high`, where x ~ scale code -
// min. If `low` is 0, neither scale nor minimum is negative. Otherwise there is no minimum, and the
// scale may be negative if the codes have one more value below 0 than above. The five kinds follow.
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
  // Fits `blocks` blocks of x. `weights` is null or has a weight for each element, none negative.
  // A block with an element that is not finite gets a scale of NaN.
  void (*fit)(const CodeKind& kind, const float* x, size_t blocks, const float* weights,
              ScaleAndMin* fitted);
  // Writes, for each element of the blocks, the nearest code to (x + min) / scale; 0 if the scale
  // is 0 or NaN, and the lowest code for an element that is NaN.
  void (*nearest)(const CodeKind& kind, const float* x, size_t blocks, const ScaleAndMin* of,
                  int8_t* codes);
  // Quantises `lanes` blocks of kFp8Elements to FP8, with a scale for each (tensor/fit_fp8.h).
  void (*fp8)(const float* x, const float* weights, float* scales, uint8_t* codes);
  size_t lanes;
};

// Returns the levels of instructions that this processor has, slowest first.
std::span<const FitLevel* const> fit_levels();

// The functions of each level. Levels of other processor families are declared, but not linked.
extern const FitLevel kFitPlain, kFitAvx2, kFitAvx512, kFitNeon;

}  // namespace hearth
