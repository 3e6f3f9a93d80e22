// GGUF's tensors as they are made of a folder's: what the readers of its kinds of tensors share
// (formats/hf_tensors.h, formats/hf_experts.h).
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
  const std::string& name;  // the model's, for messages
  HfTensors out = {};

  // Whether its rows can be told: it has a type that is read, or is described.
  bool has_rows(const SafeTensor& tensor) const;

  // A tensor of the type of `like`, and at its place, without data and runs. `gguf` is its name.
  SourceTensor& push(const SafeTensor& like, std::string gguf, std::vector<uint64_t> dims);
  // The tensor as it is.
  void add_plain(const SafeTensor& tensor, const std::string& gguf);

  // Gives a tensor data that lie in no file.
  void set_copy(SourceTensor& made, std::vector<std::byte> bytes);
  void set_f32(SourceTensor& made, std::span<const float> values);
};

}  // namespace hearth
