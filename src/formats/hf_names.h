// Identifies a tensor of a Hugging Face model by its name and the rows of its family.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "formats/hf_family.h"

namespace hearth {

struct HfName {
  const HfTensor* row = nullptr;        // null: unknown, or left out
  const HfLeftOut* left_out = nullptr;  // set if the tensor is not used; `row` is null then
  std::string gguf;                     // GGUF's name; of an expert, that of the joined tensor
  std::optional<uint32_t> layer;
  // The expert's number, and where it stands in the name.
  uint32_t expert = 0;
  size_t expert_at = 0;

  HfKind kind() const { return row == nullptr ? HfKind::kPlain : row->kind; }
};

HfName parse_hf_name(std::string_view name, const HfFamily& family);

// Returns a row's name in files, for one layer and expert.
std::string hf_name_of(const HfTensor& row, const HfFamily& family, uint32_t layer,
                       uint32_t expert = 0);

}  // namespace hearth
