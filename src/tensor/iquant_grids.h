// The grids of GGUF's i-quants: rows of 8 or 4 magnitudes, whose indices a block stores. They
// define the file format, as llama.cpp published them (ggml-common.h, under the MIT licence). Here
// a row is one number, with element i in bits [2 i, 2 i + 2) or [3 i, 3 i + 3).
#pragma once

#include <cstdint>

namespace hearth {

// Rows of 8 numbers of 2 bits, which stand for the magnitudes 8, 25 and 43.
extern const uint16_t kGridIq2Xxs[256];
extern const uint16_t kGridIq2Xs[512];
extern const uint16_t kGridIq2S[1024];
// Rows of 4 numbers n of 3 bits. In IQ3_XXS n stands for 8 n + 4, except that 7 stands for 62; in
// IQ3_S it stands for 2 n + 1.
extern const uint16_t kGridIq3Xxs[256];
extern const uint16_t kGridIq3S[512];
// Rows of 8 numbers n of 2 bits, which stand for n - 1 in IQ1_S and IQ1_M.
extern const uint16_t kGridIq1[2048];

}  // namespace hearth
