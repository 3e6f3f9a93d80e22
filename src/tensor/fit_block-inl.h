// The functions of a FitLevel (tensor/fit_block.h), for the level of the file that includes this.
#pragma once

#include "tensor/fit_min-inl.h"
#include "tensor/fit_scale-inl.h"

namespace hearth {
namespace {

using FitLanes = void (*)(const float* x, const float* weights, LaneFloats& scale, LaneFloats& min);

template <const ScaleSearch& kSearch, const ScaleSearch& kWeighted>
void fit_scales(const float* x, const float* weights, LaneFloats& scale, LaneFloats& min) {
  constexpr size_t kSize = kSearch.kind.elements;
  min = floats(0);
  scale = weights == nullptr ? ScaleFit<EvenTerms<kSize>, kSearch>(x, weights).scale()
                             : ScaleFit<WeightedTerms<kSize>, kWeighted>(x, weights).scale();
}

template <const MinSearch& kSearch, const MinSearch& kWeighted>
void fit_minima(const float* x, const float* weights, LaneFloats& scale, LaneFloats& min) {
  scale = weights == nullptr ? MinFit<EvenTerms<32>, kSearch>(x, weights).scale_and(min)
                             : MinFit<WeightedTerms<32>, kWeighted>(x, weights).scale_and(min);
}

FitLanes fit_of(const CodeKind& kind) {
  if (kind.high == kCodes8.high) return fit_scales<kSearch8, kWeighted8>;
  if (kind.low == kCodes6.low) return fit_scales<kSearch6, kWeighted6>;
  if (kind.low == kCodes4.low) return fit_scales<kSearch4, kWeighted4>;
  return kind.high == kMinCodes4.high ? fit_minima<kMinSearch4, kWeightedMin4>
                                      : fit_minima<kMinSearch5, kWeightedMin5>;
}

// Holds the last blocks of a call, fewer than the lanes, and blocks of zeros for the lanes behind.
struct PaddedBlocks {
  float at[kLanes * 32];

  const float* of(const float* x, size_t elements) {
    if (x == nullptr) return nullptr;
    std::memset(at, 0, sizeof at);
    std::memcpy(at, x, elements * sizeof *x);
    return at;
  }
};

void fit_lanes(const CodeKind& kind, const float* x, size_t blocks, const float* weights,
               ScaleAndMin* fitted) {
  const FitLanes fit = fit_of(kind);
  for (size_t b = 0; b < blocks; b += kLanes) {
    const size_t count = blocks - b < kLanes ? blocks - b : kLanes;
    const float* from = x + b * kind.elements;
    const float* counts = weights == nullptr ? nullptr : weights + b * kind.elements;
    LaneFloats scale, min;
    if (count == kLanes) {
      fit(from, counts, scale, min);
    } else {
      PaddedBlocks elements, padded_weights;
      fit(elements.of(from, count * kind.elements),
          padded_weights.of(counts, count * kind.elements), scale, min);
    }
    for (size_t i = 0; i < count; ++i) fitted[b + i] = {scale[i], min[i]};
  }
}

// Finds the nearest codes of at most kLanes blocks. A separate last loop turns codes into bytes,
// since compilers vectorise the loops only then.
void nearest_few(const CodeKind& kind, const float* x, size_t blocks, const ScaleAndMin* of,
                 int8_t* codes) {
  const LaneFloats low = floats(static_cast<float>(kind.low));
  const LaneFloats high = floats(static_cast<float>(kind.high));
  const size_t n = kind.elements;
  int32_t whole[kLanes * 32];
  for (size_t b = 0; b < blocks; ++b) {
    const float scale = of[b].scale;
    const float inverse = scale != 0 && scale == scale ? 1 / scale : 0;
    for (size_t i = b * n; i < (b + 1) * n; i += kLanes) {
      LaneFloats code;
      std::memcpy(&code, x + i, sizeof code);
      code = (code + of[b].min) * inverse;
      code = code > low ? code : low;  // `low` for NaN, too
      code = (code < high ? code : high) + kRounding;
      std::memcpy(whole + i, &code, sizeof code);
    }
  }
  for (size_t i = 0; i < blocks * n; ++i) codes[i] = static_cast<int8_t>(whole[i]);
}

void nearest_codes(const CodeKind& kind, const float* x, size_t blocks, const ScaleAndMin* of,
                   int8_t* codes) {
  for (size_t b = 0; b < blocks; b += kLanes) {
    const size_t count = blocks - b < kLanes ? blocks - b : kLanes;
    nearest_few(kind, x + b * kind.elements, count, of + b, codes + b * kind.elements);
  }
}

}  // namespace
}  // namespace hearth
