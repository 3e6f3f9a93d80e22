// The gated delta rule (Yang, Kautz and Hatamizadeh 2024, arXiv 2412.06464) of one head, token by
// token over a run of rows of one sequence. The state S has a row for each element of a key and a
// column for each of a value; a token with query q, key k, value v, decay and strength beta gives
//
//   S = decay S,  e = beta (v - S^T k),  S = S + k e^T,  out = scale S^T q
//
// Columns of S are independent of each other, so threads may share a head by its columns. In memory
// a state is tiles of 16 columns, one after another, [length][16] floats each; the last one is
// padded, and what the padding holds is never used. At a length of 128 a tile is 8 KiB, and few of
// them stay in the first-level cache while all rows of the run go by.
//
// As computed, in binary32, for a column:
//
//   p = sum of k[i] S[i], e = fma(-decay, p, v) beta, S[i] = fma(k[i], e, decay S[i]) with decay
//   S[i] rounded, out = (sum of q[i] S[i]) scale
//
// Both sums have four chains from zero, of fma(k[i], S[i], chain) over ascending i with i % 4 = 0
// to 3, and are (first + third) + (second + fourth). So the bits depend only on the rows and the
// state. They are the same however a sequence is cut into runs and a head into columns, and on
// every ISA level.
//
// |S| is at most what is left, after the decays, of all that was added. So errors stay bounded if
// every decay is at most 1, every beta is within [0, 1] and every key's 2-norm is at most 1.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth {

inline constexpr uint32_t kStateTile = 16;  // columns

struct DeltaRuleArgs {
  const float* q;  // [rows][length], key_stride floats apart
  const float* k;  // the same
  size_t key_stride;
  const float* v;  // [rows][columns], value_stride floats apart
  size_t value_stride;
  const float* decay;  // [rows], gate_stride floats apart
  const float* beta;   // the same
  size_t gate_stride;
  uint32_t rows;
  uint32_t length;
  uint32_t columns;
  float scale;
  const float* from;  // the state before the rows, or null: zeros
  float* to;          // the state after the rows, may be `from`
  float* out;         // [rows][columns], out_stride floats apart; not v
  size_t out_stride;
};

// Returns how many floats the state of `columns` columns takes.
constexpr size_t delta_state_floats(uint32_t length, uint32_t columns) {
  return size_t{length} * ((columns + kStateTile - 1) / kStateTile * kStateTile);
}

}  // namespace hearth
