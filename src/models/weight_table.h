// WeightTable: the weights of a model for its ops, by their place in the spec: matrices cut into
// shards, vectors with a copy for every shard. It gives their sizes before they have memory; a
// Model places and packs them (models/model.h).
//
// A copy of the table describes the same weights, and shares the packed bytes. On each node the
// thread that builds graphs makes a copy, which its graphs read.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "formats/file_rows.h"
#include "models/axis_cutting.h"
#include "models/model_spec.h"
#include "tensor/weight.h"

namespace hearth {

class WeightTable {
 public:
  // Makes a table without memory. `axes` are the spec's, and must outlive the table and its copies.
  WeightTable(const ModelSpec& spec, const std::vector<CutAxis>& axes,
              const ExpertDealing& dealing = {});

  uint32_t shard_count() const { return shard_count_; }
  // Return weights whose addresses do not change.
  const Weight& matrix(WeightId id) const { return matrices_[place_[id.index]]; }
  const VectorWeight& vector(WeightId id) const { return vectors_[place_[id.index]]; }
  // Returns null if there is no such vector.
  const VectorWeight* optional_vector(WeightId id) const { return id ? &vector(id) : nullptr; }

  // Returns the rows of PerLayerInputs; null before they have memory, and for a model without them.
  const std::shared_ptr<const FileRows>& token_rows() const { return token_rows_; }
  void set_token_rows(std::shared_ptr<const FileRows> rows) { token_rows_ = std::move(rows); }

  // Return the weights in the order of the spec's weights of that kind.
  std::vector<Weight>& matrices() { return matrices_; }
  std::vector<VectorWeight>& vectors() { return vectors_; }

  // Returns the bytes of all weights in shard s, as a Model lays them out.
  size_t shard_bytes(uint32_t s) const;

 private:
  Weight cut(const WeightSpec& weight, const std::vector<CutAxis>& axes,
             const ExpertDealing& dealing) const;

  uint32_t shard_count_;
  std::vector<Weight> matrices_;
  std::vector<VectorWeight> vectors_;
  std::shared_ptr<const FileRows> token_rows_;
  std::vector<size_t> place_;  // by WeightId, among the matrices or the vectors
};

// Each weight's bytes begin at a multiple of kWeightAlign. An expert's first matrix begins at one
// of kExpertAlign, and its other matrices follow, so that an expert is one run of pages.
inline constexpr size_t kWeightAlign = 64, kExpertAlign = 4096;

}  // namespace hearth
