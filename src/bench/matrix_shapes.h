// Lists the matrix products of a model, and lays such a matrix out in memory to be measured: often
// enough that no cache holds what is read again.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/model_spec.h"
#include "tensor/dtype.h"
#include "tensor/pack_spec.h"

namespace hearth {

// The type that weights are measured as.
struct WeightType {
  std::string_view name;  // "q4_0"
  PackKind kind = PackKind::kF32;
  PackForm form = {};
  bool operator==(const WeightType&) const = default;
};
WeightType weight_type(const PackedType& type);
// Returns the types of files in the order of the enum, each packed as its own kind, then FP8 with
// scales of rows.
std::vector<WeightType> weight_types();

// A matrix shape W[rows, k] of one type, and the members that have it: "gate, up".
struct MatrixShape {
  uint32_t rows = 0, k = 0;
  WeightType type;
  std::string roles;
  bool operator==(const MatrixShape&) const = default;
};

// The distinct shapes of the model's matrices but the tables of tokens (which is there as the head
// where it is one) and positions, by member in the order in which members first occur, the head
// last; a shape that several members have stands once. `types`: each shape in each of them; empty:
// in the source's own.
std::vector<MatrixShape> matrix_shapes(const ModelSpec& spec, std::span<const WeightType> types);

// The part of a matrix that is measured. Rows and k are padded as packing pads them. A matrix that
// is larger than kWholeMatrix and than all that is rotated over is measured in its first rows.
struct Rotation {
  PackSpec spec;        // of what is measured
  uint32_t copies = 1;  // in memory, read in turn

  uint64_t copy_bytes() const { return spec.codes_bytes() + spec.scales_bytes(); }
};
inline constexpr uint64_t kWholeMatrix = uint64_t{256} << 20;

// Plans the number of copies such that together they hold `bytes`.
Rotation plan_rotation(const MatrixShape& shape, uint64_t bytes);

}  // namespace hearth
