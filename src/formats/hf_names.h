// Finds out what a tensor of a Hugging Face model is, from its name and the rows of its family.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "formats/hf_family.h"

namespace hearth {

struct HfName {
  const HfTensor* row = nullptr;        // null: unknown
  const HfLeftOut* left_out = nullptr;  // what it is one of; then there is no row
  std::string gguf;                     // of an expert: the name of all of them
  std::optional<uint32_t> layer;
  // The number of the expert, and its position in the name.
  uint32_t expert = 0;
  size_t expert_at = 0;

  HfKind kind() const { return row == nullptr ? HfKind::kPlain : row->kind; }
};

HfName parse_hf_name(std::string_view name, const HfFamily& family);

// A row's name in files, and of one expert.
std::string hf_name_of(const HfTensor& row, const HfFamily& family, uint32_t layer,
                       uint32_t expert = 0);

}  // namespace hearth
