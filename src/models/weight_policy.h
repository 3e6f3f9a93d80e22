// WeightPolicy: what matrices are packed as where that is not what the source has them in. They are
// quantised panel by panel while they are packed (formats/source_rows.h), so no second copy of them
// is ever in memory, and a source is read once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tensor/dtype.h"

namespace hearth {

struct ModelSpec;
struct WeightSpec;

// The type of matrices of layers; none: they stay as they are. Token tables and the head get a type
// of more bits (end_type). These stay as they are:
//   what is quantised already
//   matrices that every shard has a copy of: routers, projections to latents
//   tables of positions, norms, biases
//   matrices with rows of no multiple of 32 elements
// Rows that hold no whole blocks of the type become q8_0.
struct WeightPolicy {
  std::optional<DType> type;
};

// Of token tables and the head.
DType end_type(DType type);

// Sets WeightSpec::packed of whatever the policy changes.
void apply_weight_policy(const WeightPolicy& policy, ModelSpec* spec);

// Whether a policy makes another type of it.
bool is_quantised_by_policy(const WeightSpec& weight);

// Sentences on what the policy did to the model. A user should know those of `warnings`.
struct PolicyNotes {
  std::vector<std::string> details, warnings;
};
PolicyNotes weight_policy_notes(const WeightPolicy& policy, const ModelSpec& spec);

}  // namespace hearth
