// Counts, when a graph is built, a group's work with its part of a weight in a step of so many rows
// (graph/op_work.h). The parts of all groups sum up to the packed bytes of all shards and to 2 x
// rows x weight.rows x weight.k operations, wherever the boundaries between groups lie. Rows that
// several shards hold count once for each shard.
#pragma once

#include <array>
#include <vector>

#include "graph/op_work.h"
#include "graph/slices.h"
#include "tensor/weight.h"

namespace hearth {

class WeightWork {
 public:
  // Adds the group's rows of a row-cut weight. If two groups share a panel, each counts its own
  // rows of it.
  void add(const Weight& weight, const RowSlice& slice);
  // Adds all rows of the share.
  void add(const Weight& weight, const GroupShare& share);
  // Adds all rows of a column-cut weight over the piece's segments.
  void add(const Weight& weight, const Piece& piece);
  // Adds all that a shard has of the weight.
  void add(const Weight& weight, uint32_t shard);

  // Adds the work of a step of `rows` rows, with kernels of a level that has `units`; nothing for 0
  // rows.
  void add_to(uint32_t rows, const ArithmeticUnitSet& units, OpLoad* load) const;
  // The mean work of a step that reads only a part of these weights, and multiplies each weight
  // that it reads with a mean number of rows.
  struct Mean {
    double read, rows;
  };
  void add_to(const Mean& mean, const ArithmeticUnitSet& units, OpLoad* load) const;

 private:
  struct ShardBytes {
    uint32_t shard;
    uint64_t packed, source;
  };
  std::vector<ShardBytes> bytes_;
  std::array<uint64_t, kActFormats> row_operations_{};  // of one row, by ActFormat
};

}  // namespace hearth
