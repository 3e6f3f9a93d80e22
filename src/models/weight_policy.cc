#include "models/weight_policy.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "models/model_spec.h"

namespace hearth {
namespace {

bool is_plain(DType type) { return dtype_info(type).block_elements == 1; }

// Whether the policy is for matrices like this one, whatever its rows.
bool is_meant(const ModelSpec& spec, const WeightSpec& weight) {
  const bool cut = weight.cut == WeightCut::kRows || weight.cut == WeightCut::kColumns;
  if (!cut || weight.data->has_codes() || !is_plain(weight.dtype)) return false;
  const auto index = static_cast<uint32_t>(&weight - spec.weights.data());
  return weight.layer >= 0 || index == spec.embedding.token.index || index == spec.head.index;
}

DType meant_type(const WeightSpec& weight, DType type) {
  return weight.layer >= 0 ? type : end_type(type);
}

bool holds_blocks(const WeightSpec& weight, DType type) {
  return weight.k % dtype_info(type).block_elements == 0;
}

std::string tensors_text(size_t count) {
  return fmt::format("{} tensor{}", count, count == 1 ? "" : "s");
}

using Tensors = std::set<const SourceTensor*>;

}  // namespace

DType end_type(DType type) { return type == DType::kQ8_0 ? DType::kQ8_0 : DType::kQ6_K; }

void apply_weight_policy(const WeightPolicy& policy, ModelSpec* spec) {
  if (!policy.type) return;
  for (WeightSpec& weight : spec->weights) {
    if (!is_meant(*spec, weight)) continue;
    const DType type = meant_type(weight, *policy.type);
    if (holds_blocks(weight, type)) {
      weight.packed = type;
    } else if (holds_blocks(weight, DType::kQ8_0)) {
      weight.packed = DType::kQ8_0;
    }
  }
}

bool is_quantised_by_policy(const WeightSpec& weight) {
  return is_plain(weight.dtype) && !is_plain(weight.packed.dtype);
}

PolicyNotes weight_policy_notes(const WeightPolicy& policy, const ModelSpec& spec) {
  PolicyNotes notes;
  if (!policy.type) return notes;
  const std::string_view name = dtype_info(*policy.type).name;
  std::map<std::string_view, Tensors> by_type;
  Tensors fallen, stay;
  for (const WeightSpec& weight : spec.weights) {
    if (is_quantised_by_policy(weight)) by_type[weight.packed.name()].insert(weight.data);
    if (!is_meant(spec, weight)) continue;
    if (!is_quantised_by_policy(weight)) {
      stay.insert(weight.data);
    } else if (!holds_blocks(weight, meant_type(weight, *policy.type))) {
      fallen.insert(weight.data);
    }
  }
  for (const auto& [type, tensors] : by_type) {
    notes.details.push_back(fmt::format("{} of '{}' become {} while they are loaded",
                                        tensors_text(tensors.size()), spec.source, type));
  }
  if (by_type.empty() && stay.empty()) {
    notes.warnings.push_back(fmt::format(
        "no tensor of '{}' becomes {}: its matrices are quantised already", spec.source, name));
  }
  if (!fallen.empty()) {
    notes.warnings.push_back(
        fmt::format("{} of '{}' become q8_0 instead: their rows are no whole blocks of 256",
                    tensors_text(fallen.size()), spec.source));
  }
  if (!stay.empty()) {
    notes.warnings.push_back(
        fmt::format("{} of '{}' stay as they are: their rows are no whole blocks of 32",
                    tensors_text(stay.size()), spec.source));
  }
  return notes;
}

}  // namespace hearth
