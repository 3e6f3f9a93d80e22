// Layers of a gated delta rule (Yang, Kautz and Hatamizadeh 2024, arXiv 2412.06464), as Qwen's
// hybrids have them. A state of fixed size takes the place of keys and values of all positions. A
// value head has a state of its own (kernels/recurrent/delta_rule.h) and reads queries and keys of
// the key head that it belongs to. Key heads are cut over shards together with their value heads.
//
//   c = silu(convolution of queries, keys and values over the last few rows)
//   q, k of c divided by their 2-norms; decay and strength of alpha and beta
//   out = rms_norm(delta rule of q, k, v; weight, of every head) silu(z)
//
// The step says which slot each item's state is read from and which one it is written to
// (StepItem). The state of a key head holds its last inputs of the convolution, [taps - 1][queries,
// keys, values of each of its value heads], and then the states of its value heads. No bit of it
// depends on how rows are cut into steps and heads into tasks.
#pragma once

#include <string>
#include <vector>

#include "graph/builder.h"
#include "graph/ops/linear.h"
#include "graph/ops/rows.h"
#include "kernels/recurrent/delta_rule.h"

namespace hearth {

// How value heads belong to key heads, and their order. In a file the value heads of a key head are
// neighbours, or they are dealt: the first of every key head, then the second of every key head,
// and so on. Packed columns of the output matrix have the file's order with one exception. If heads
// are dealt, the value heads of each `unit` key heads lie together, and are dealt only among
// themselves.
struct DeltaHeads {
  uint32_t keys = 0, each = 1;  // value heads of a key head
  bool dealt = false;
  uint32_t unit = 1;  // key heads that shards are cut in multiples of

  uint32_t values() const { return keys * each; }
  // parts(): the number of matrices that hold the rows of value heads: one or, if heads are dealt,
  // one for each value head of a key head. of_part(): the value heads of a key head in each.
  uint32_t parts() const { return dealt ? each : 1; }
  uint32_t of_part() const { return dealt ? 1 : each; }
  // Return the number of value head i of key head j in the file, and in the output's columns.
  uint32_t in_file(uint32_t j, uint32_t i) const { return dealt ? i * keys + j : j * each + i; }
  uint32_t in_output(uint32_t j, uint32_t i) const {
    return j / unit * unit * each + (dealt ? i * unit + j % unit : j % unit * each + i);
  }
};

// The most columns that all value heads may have together.
inline constexpr uint32_t kMaxDeltaWidth = kOpTileBytes / 4 / sizeof(float);

// Returns how many floats a key head's state has.
size_t delta_state_floats(const DeltaHeads& heads, uint32_t length, uint32_t taps);

struct DeltaShape {
  uint32_t layer;
  DeltaHeads heads;
  uint32_t length;  // of a head's keys and of its values
  uint32_t taps;
  NormWeight norm;           // of a head's results; its epsilon is that of queries and keys as well
  const VectorWeight* conv;  // [taps][queries, keys, values in the file's order]
  const VectorWeight* bias;  // of alpha, [value heads]
  const VectorWeight* rate;  // [value heads]
  // Whether alpha's matrices hold the betas too: for every key head its betas, then its alphas.
  bool both_in_alpha;
};

// The projections, row-cut on one axis of key heads. Projections to value heads have
// DeltaHeads::parts() matrices each.
struct DeltaMatrices {
  LinearMatrix query, key;
  std::vector<LinearMatrix> value, gate, alpha, beta;
};

// Returns the input of the output's matrix (column-cut on the same axis). Parallel.
Bundle delta_net(GraphBuilder& builder, const std::string& name, const Bundle& x,
                 const DeltaMatrices& matrices, const DeltaShape& shape, const Weight& output);

}  // namespace hearth
