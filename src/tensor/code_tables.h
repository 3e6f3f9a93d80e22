// The tables for types whose codes are looked up (CodeTable in tensor/pack_kind.h). Decoding such a
// type gives an entry of `values` for each code, and `factor` is part of the scale of its
// CodeBlock. So an element is factor * d * scale * value, with d and scale as in StoredScales.
// Entries that no code uses are 0.
#pragma once

#include "tensor/pack_kind.h"

namespace hearth {

extern const CodeTable kTableIq4Nl;   // IQ4_NL, IQ4_XS
extern const CodeTable kTableE2m1;    // MXFP4, NVFP4: levels doubled, so that they are integers
extern const CodeTable kTableIq3s;    // IQ3_S; here and below bit 3 of 16 codes is the sign
extern const CodeTable kTableIq3xxs;  // IQ3_XXS
extern const CodeTable kTableIq2;     // IQ2_XXS, IQ2_XS, IQ2_S; bit 2 of 8 codes is the sign
extern const CodeTable kTableIq1;     // IQ1_M: 8 g - 1 and 8 g + 1 for g in -1, 0, 1
extern const CodeTable kTableQ3;      // Q3_K
extern const CodeTable kTableInt4;    // value = code - 8

}  // namespace hearth
