// WeightPolicy: the type that matrices are packed as, if it is not the source's. They are quantised
// panel by panel while they are packed (formats/source_rows.h), so memory never holds a second copy
// of them, and a source is read once.
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

// WeightPolicy names the type of the matrices of layers; with none, all keep their types. Token
// tables and the head get a type of more bits (end_type). These keep their types:
//   quantised matrices, except codes of other quantisers if the policy decodes them
//   matrices that every shard has a copy of: routers, projections to latents
//   tables of positions, norms, biases
//   matrices with rows of no multiple of 32 elements
// Rows that hold no whole blocks of the type become q8_0.
struct WeightPolicy {
  std::optional<DType> type = {};
  // Chooses the finest type that fits into memory, which engine/choose_weights.h finds out. Until
  // then matrices keep their types.
  bool automatic = false;
  // The weights of matrices' columns for quantising, by the names of their tensors. If null, or for
  // a tensor without an entry, all columns weigh the same.
  std::shared_ptr<const Importance> importance = nullptr;
  // Quantises codes of other quantisers (formats/stored_codes.h) as if they were floats. This is
  // for writing files, since no type of a file holds such codes.
  bool decode = false;
};

// Return the types that a policy may name, and their names. FP8 has a scale for every 128 columns
// of a row, so that its bits do not depend on how rows are cut. No file is written with it.
std::span<const DType> policy_types();
std::string_view policy_type_name(DType type);

// Returns the type of token tables and the head.
DType end_type(DType type);

// Sets the spec's policy, and WeightSpec::packed and ::importance of each weight that it changes.
// Throws Error (kFile) if an entry has another number of values than its tensor has columns.
void apply_weight_policy(const WeightPolicy& policy, ModelSpec* spec);

// Returns whether the spec's policy packs the weight as another type than the source's.
bool is_made_by_policy(const ModelSpec& spec, const WeightSpec& weight);

// Sentences on the effects of the policy on the model. Users should see the `warnings`.
struct PolicyNotes {
  std::vector<std::string> details, warnings;
};
PolicyNotes weight_policy_notes(const ModelSpec& spec);

}  // namespace hearth
