// Lists the matrix products of a model. Also plans how many copies of a matrix a measurement reads
// in turn, so that no cache still holds a copy when it is read again.
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
// Returns the types of files in the order of the enum. Each is packed as its own kind. FP8 comes
// once more at the end, with a scale for each row.
std::vector<WeightType> weight_types();

// A matrix shape W[rows, k] of one type, and the members that have it: "gate, up".
struct MatrixShape {
  uint32_t rows = 0, k = 0;
  WeightType type;
  std::string roles;
  bool operator==(const MatrixShape&) const = default;
};

// Returns the distinct shapes of the model's matrices. The tables of tokens and positions are left
// out, but a token table that is also the head counts as the head. Members are in the order of
// their first occurrence, the head last; members of equal shape share one entry. Each shape comes
// in each of `types`; where `types` is empty, in the source's own type.
std::vector<MatrixShape> matrix_shapes(const ModelSpec& spec, std::span<const WeightType> types);

// The part of a matrix that is measured, and its number of copies. Rows and k are padded as packing
// pads them. Of a matrix larger than both kWholeMatrix and the bytes to rotate over, only the first
// rows are measured.
struct Rotation {
  PackSpec spec;        // of the measured part
  uint32_t copies = 1;  // in memory, read in turn

  uint64_t copy_bytes() const { return spec.codes_bytes() + spec.scales_bytes(); }
};
inline constexpr uint64_t kWholeMatrix = uint64_t{256} << 20;

// Chooses the number of copies that together hold at least `bytes`.
Rotation plan_rotation(const MatrixShape& shape, uint64_t bytes);

}  // namespace hearth
