// A weight matrix W[rows, k] lies in memory cut into one Shard per NUMA node, each packed for the
// kernels (tensor/pack_spec.h). A weight is stored once, whatever plans work on it, with two
// exceptions. Small vectors, which every row needs whole, have a copy on every node. Rows of a
// widened axis (tensor/axis_cuts.h) that shards share are stored in each of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/axis_cuts.h"
#include "tensor/column_order.h"
#include "tensor/pack_spec.h"

namespace hearth {

enum class CutBy : uint8_t {
  kRows,     // the axis is W's rows: every shard computes its own outputs
  kColumns,  // the axis is K: every shard computes partial sums of all outputs
  kWhole,    // the weight is not cut: a shard has all of it, or nothing
};

struct Shard {
  PackSpec spec;
  uint32_t row0 = 0;  // the first row of the whole weight; the first column is spec.k_origin
  std::byte* codes = nullptr;
  std::byte* scales = nullptr;
};

struct Weight {
  std::string name;
  PackedType type;
  uint32_t rows, k;
  CutBy cut;
  const AxisCuts* cuts;  // null for kWhole
  uint32_t unit;         // rows or columns of this weight in one unit of the axis
  std::vector<Shard> shards;
  size_t align = 64;  // alignment of a shard's bytes
  // The order of the weight's columns (tensor/column_order.h), if products must gather their input
  // in it. The weight is cut into shards in this order of columns.
  ColumnOrder order = {};
};

// A small vector (norm weights, biases), with a copy on the node of every shard.
struct VectorWeight {
  uint32_t size = 0;
  std::vector<const float*> copies;  // by shard, once loaded
};

// Returns the weight with empty shards (no memory yet). The axis must cover the cut dimension:
// units * unit reaches it, and all units but the last lie inside.
Weight cut_weight(std::string name, PackedType type, uint32_t rows, uint32_t k, CutBy cut,
                  const AxisCuts& cuts, uint32_t unit);
// Returns a weight that is not cut: shard s has all of it if `holders` has bit s.
Weight whole_weight(std::string name, PackedType type, uint32_t rows, uint32_t k,
                    const std::vector<bool>& holders);

// Writes row `row` of a row-cut weight in f32 to out[k].
void weight_row(const Weight& weight, uint32_t row, float* out);

}  // namespace hearth
