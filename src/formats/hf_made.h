// HfMade holds GGUF's tensors while they are made from a folder's, with the steps that the readers
// of all kinds of tensors share (formats/hf_tensors.h, formats/hf_experts.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "formats/hf_config.h"
#include "formats/hf_stored.h"
#include "formats/hf_tensors.h"

namespace hearth {

struct HfMade {
  const HfConfig& config;
  HfStored& stored;
  const std::string& name;  // the model's name, for messages
  HfTensors out = {};

  // Returns whether rows of the tensor can be read: its type is known, or it has codes that are
  // described.
  bool has_rows(const SafeTensor& tensor) const;

  // Adds a tensor, named `gguf`, with the type and place of `like`, without data and runs.
  SourceTensor& push(const SafeTensor& like, std::string gguf, std::vector<uint64_t> dims);
  // Adds the tensor unchanged.
  void add_plain(const SafeTensor& tensor, const std::string& gguf);

  // Gives a tensor data that lie in no file; this object keeps the data.
  void set_copy(SourceTensor& made, std::vector<std::byte> bytes);
  void set_f32(SourceTensor& made, std::span<const float> values);
};

}  // namespace hearth
