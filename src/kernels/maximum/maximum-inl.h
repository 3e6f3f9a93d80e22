// Maxima of panels over Vec16 (kernels/simd/). ISA files include it after their Vec16.
#pragma once

#include "kernels/maximum/maximum.h"

namespace hearth {
namespace {

inline void panel_maxima(const PanelMaximaArgs& a) {
  // x - x is zero, or NaN if x is not finite. The sum over all panels is checked once, since NaN is
  // rare.
  Vec16 differences = Vec16::zero();
  for (uint32_t p = 0; p < a.panels; ++p) {
    Vec16 x = Vec16::load(a.x + p * 16);
    differences = add(differences, sub(x, x));
    a.out[p] = maximum(x);
  }
  if (sum(differences) == 0) return;
  for (uint32_t p = 0; p < a.panels; ++p) {
    Vec16 x = Vec16::load(a.x + p * 16);
    a.out[p] += sum(sub(x, x));
  }
}

}  // namespace
}  // namespace hearth
