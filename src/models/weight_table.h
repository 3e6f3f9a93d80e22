// WeightTable: the weights of a model as ops find them, by layer and role: matrices cut into
// shards, vectors with a copy for every shard. It knows how much memory they take before they have
// any; a Model places and packs them (models/model.h).
//
// A copy describes the same weights; what is packed is not copied. Graphs that a node's own thread
// builds read a copy that this thread made.
#pragma once

#include <cstddef>
#include <map>
#include <tuple>
#include <vector>

#include "models/axis_cutting.h"
#include "models/model_spec.h"
#include "tensor/weight.h"

namespace hearth {

class WeightTable {
 public:
  // Without memory. `axes` are those of the spec, and outlive the table and its copies.
  WeightTable(const ModelSpec& spec, const std::vector<CutAxis>& axes,
              const ExpertDealing& dealing = {});

  uint32_t shard_count() const { return shard_count_; }
  // The weight that must be there, or null where it may be missing. They stay where they are.
  const Weight& matrix(int layer, WeightRole role) const;
  const Weight* matrix_or_null(int layer, WeightRole role) const;
  // The layer's matrix of one expert.
  const Weight& expert_matrix(int layer, WeightRole role, uint32_t expert) const;
  const VectorWeight& vector(int layer, WeightRole role) const;
  const VectorWeight* vector_or_null(int layer, WeightRole role) const;

  // In the order of the spec's weights of that kind.
  std::vector<Weight>& matrices() { return matrices_; }
  std::vector<VectorWeight>& vectors() { return vectors_; }

  // Bytes of all weights in shard s, as a Model lays them out.
  size_t shard_bytes(uint32_t s) const;

 private:
  using Key = std::tuple<int, WeightRole, int>;  // layer, role, expert

  Weight place(const WeightSpec& weight, const std::vector<CutAxis>& axes,
               const ExpertDealing& dealing) const;

  uint32_t shard_count_;
  std::vector<Weight> matrices_;
  std::vector<VectorWeight> vectors_;
  std::map<Key, size_t> matrix_index_, vector_index_;
};

// Each weight's bytes begin at a multiple of kWeightAlign, an expert's first matrix at one of
// kExpertAlign: its matrices follow, so that an expert is one run of pages.
inline constexpr size_t kWeightAlign = 64, kExpertAlign = 4096;

}  // namespace hearth
