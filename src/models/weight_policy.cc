#include "models/weight_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/count_text.h"
#include "base/error.h"
#include "models/model_spec.h"

namespace hearth {
namespace {

constexpr std::array kPolicyTypes = {DType::kQ8_0, DType::kF8E4M3, DType::kQ6_K,
                                     DType::kQ5_K, DType::kQ4_K,   DType::kQ4_0};

bool is_plain(DType type) { return dtype_info(type).block_elements == 1; }

bool stays_in_codes(const ModelSpec& spec, const WeightSpec& weight) {
  return weight.data->has_codes() && !spec.policy.decode;
}

// Returns whether the matrix is of a kind that the policy quantises, if its row length allows it: a
// cut matrix of floats in a layer, the token table or the head.
bool is_meant(const ModelSpec& spec, const WeightSpec& weight) {
  const bool cut = weight.cut == WeightCut::kRows || weight.cut == WeightCut::kColumns;
  if (!cut || stays_in_codes(spec, weight) || !is_plain(weight.dtype)) return false;
  if (weight.dtype == spec.policy.type) return false;
  const auto index = static_cast<uint32_t>(&weight - spec.weights.data());
  return weight.layer >= 0 || index == spec.embedding.token.index || index == spec.head.index;
}

DType meant_type(const WeightSpec& weight, DType type) {
  return weight.layer >= 0 ? type : end_type(type);
}

bool holds_blocks(const WeightSpec& weight, DType type) {
  const uint32_t block = std::max<uint32_t>(kBlock, dtype_info(type).block_elements);
  const uint32_t run = weight.column_runs.length;
  if (run != 0 && (run % block != 0 || type == DType::kF8E4M3)) return false;
  return weight.k % block == 0;
}

PackedType packed_as(DType type) {
  return type == DType::kF8E4M3 ? PackedType{type, PackKind::kFP8R} : PackedType{type};
}

void set_importance(const Importance& from, const std::string& source, WeightSpec* weight) {
  const SourceTensor& tensor = *weight->data;
  weight->importance = from.find(tensor.name);
  if (weight->importance == nullptr || weight->importance->fits(tensor)) return;
  fail(ErrorCode::kFile,
       "'{}': entry '{}' has {} values and {} counts, which do not fit the tensor in '{}' with {} "
       "elements a row and {} rows a matrix: use the importance matrix of this model",
       from.name(), tensor.name, weight->importance->values(), weight->importance->counts.size(),
       source, tensor.dims[0], tensor.matrix_rows());
}

using Tensors = std::set<const SourceTensor*>;

// Adds a note on how many tensors are quantised for a second time.
void note_decoded(const ModelSpec& spec, PolicyNotes* notes) {
  Tensors decoded;
  for (const WeightSpec& weight : spec.weights) {
    if (weight.data->has_codes()) decoded.insert(weight.data);
  }
  if (decoded.empty()) return;
  notes->warnings.push_back(
      fmt::format("{} of '{}' {} already quantised ({}), and quantising again rounds a second "
                  "time: start from the model's original floats for better results",
                  count_text(decoded.size(), "tensor"), spec.source,
                  decoded.size() == 1 ? "is" : "are", (*decoded.begin())->type_text));
}

// Notes how many quantised tensors have no entry. Files of llama-imatrix mostly lack those of token
// tables and the head. If no other tensor lacks one, the note is a detail.
void note_importance(const ModelSpec& spec, PolicyNotes* notes) {
  Tensors made, without;
  bool of_layer = false;
  for (const WeightSpec& weight : spec.weights) {
    if (!is_made_by_policy(spec, weight)) continue;
    made.insert(weight.data);
    if (weight.importance != nullptr) continue;
    without.insert(weight.data);
    of_layer = of_layer || weight.layer >= 0;
  }
  if (without.empty()) return;
  (of_layer ? notes->warnings : notes->details)
      .push_back(fmt::format(
          "{} of {} that {} quantised {} no entry in '{}': there all columns count the same",
          without.size(), count_text(made.size(), "tensor"), made.size() == 1 ? "is" : "are",
          without.size() == 1 ? "has" : "have", spec.policy.importance->name()));
}

}  // namespace

std::span<const DType> policy_types() { return kPolicyTypes; }

std::string_view policy_type_name(DType type) {
  return type == DType::kF8E4M3 ? "fp8" : std::string_view(dtype_info(type).name);
}

DType end_type(DType type) {
  const bool fine = type == DType::kQ8_0 || type == DType::kF8E4M3;
  return fine ? DType::kQ8_0 : DType::kQ6_K;
}

void apply_weight_policy(const WeightPolicy& policy, ModelSpec* spec) {
  spec->policy = policy;
  if (!policy.type) return;
  for (WeightSpec& weight : spec->weights) {
    if (!is_meant(*spec, weight)) continue;
    const DType type = meant_type(weight, *policy.type);
    if (holds_blocks(weight, type)) {
      weight.packed = packed_as(type);
    } else if (holds_blocks(weight, DType::kQ8_0)) {
      weight.packed = DType::kQ8_0;
    }
    if (policy.importance && is_made_by_policy(*spec, weight)) {
      set_importance(*policy.importance, spec->source, &weight);
    }
  }
}

bool is_made_by_policy(const ModelSpec& spec, const WeightSpec& weight) {
  const DType type = weight.packed.dtype;
  if (stays_in_codes(spec, weight)) return false;
  return type != weight.dtype && std::ranges::find(kPolicyTypes, type) != kPolicyTypes.end();
}

PolicyNotes weight_policy_notes(const ModelSpec& spec) {
  const WeightPolicy& policy = spec.policy;
  PolicyNotes notes;
  if (!policy.type) return notes;
  const std::string_view name = policy_type_name(*policy.type);
  std::map<std::string_view, Tensors> by_type;
  Tensors fallen, stay;
  for (const WeightSpec& weight : spec.weights) {
    if (is_made_by_policy(spec, weight))
      by_type[policy_type_name(weight.packed.dtype)].insert(weight.data);
    if (!is_meant(spec, weight)) continue;
    if (!is_made_by_policy(spec, weight)) {
      stay.insert(weight.data);
    } else if (!holds_blocks(weight, meant_type(weight, *policy.type))) {
      fallen.insert(weight.data);
    }
  }
  for (const auto& [type, tensors] : by_type) {
    notes.details.push_back(fmt::format("{} of '{}' {} {} while they are loaded",
                                        count_text(tensors.size(), "tensor"), spec.source,
                                        tensors.size() == 1 ? "becomes" : "become", type));
  }
  if (policy.decode) note_decoded(spec, &notes);
  if (policy.importance) note_importance(spec, &notes);
  if (by_type.empty() && stay.empty()) {
    notes.warnings.push_back(fmt::format(
        "no tensor of '{}' becomes {}: its matrices are quantised already", spec.source, name));
  }
  if (!fallen.empty()) {
    notes.warnings.push_back(
        fmt::format("{} of '{}' become q8_0 instead: their row length is not a multiple of 256",
                    count_text(fallen.size(), "tensor"), spec.source));
  }
  if (!stay.empty()) {
    notes.warnings.push_back(
        fmt::format("{} of '{}' are not quantised: their row length is not a multiple of 32",
                    count_text(stay.size(), "tensor"), spec.source));
  }
  return notes;
}

}  // namespace hearth
