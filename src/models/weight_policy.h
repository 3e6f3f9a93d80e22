// WeightPolicy: the type that matrices are packed as where that is not the source's. They are
// quantised panel by panel while they are packed (formats/source_rows.h), so no second copy of them
// is ever in memory, and a source is read once.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/importance.h"
#include "tensor/dtype.h"

namespace hearth {

struct ModelSpec;
struct WeightSpec;

// The type of matrices of layers; none: they stay as they are. Token tables and the head get a type
// of more bits (end_type). These stay as they are:
//   what is quantised already, but for codes of other quantisers where the policy decodes them
//   matrices that every shard has a copy of: routers, projections to latents
//   tables of positions, norms, biases
//   matrices with rows of no multiple of 32 elements
// Rows that hold no whole blocks of the type become q8_0.
struct WeightPolicy {
  std::optional<DType> type = {};
  // The type is the finest that fits into memory, which who starts an engine finds out
  // (engine/choose_weights.h). Until then matrices stay as they are.
  bool automatic = false;
  // The weights of matrices' columns where they are quantised, by the names of their tensors; null,
  // or without an entry for a tensor: all weigh the same.
  std::shared_ptr<const Importance> importance = nullptr;
  // Codes of other quantisers (formats/stored_codes.h) count as floats: for files, whose types hold
  // none of them.
  bool decode = false;
};

// The types that a policy may name, and their names. FP8 has a scale for every 128 columns of a
// row, so that its bits do not depend on how rows are cut; no file is written with it.
std::span<const DType> policy_types();
std::string_view policy_type_name(DType type);

// Returns the type of token tables and the head.
DType end_type(DType type);

// Sets the spec's policy, and WeightSpec::packed and ::importance of whatever it changes. Throws
// (kFile) where an entry has not as many values as its tensor has columns.
void apply_weight_policy(const WeightPolicy& policy, ModelSpec* spec);

// Whether the spec's policy packs the weight as another type than the source's.
bool is_made_by_policy(const ModelSpec& spec, const WeightSpec& weight);

// Sentences on what its policy did to the model. A user should know those of `warnings`.
struct PolicyNotes {
  std::vector<std::string> details, warnings;
};
PolicyNotes weight_policy_notes(const ModelSpec& spec);

}  // namespace hearth
