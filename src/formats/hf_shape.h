// Lists the tensors that a Hugging Face model's config.json calls for, if the weights are not at
// hand. This is for predictions of memory and speed. Names, types and shapes are those of the
// released files: with a `quantization_config` of FP8, Linears are FP8 with scales, but for those
// that it excludes and the head; all else has the type of `torch_dtype` (or `dtype`). The list has
// the tensors of each row of the family's table that has a shape. Layers of multi-token prediction
// are not among them.
#pragma once

#include <cstdint>
#include <vector>

#include "formats/config_reader.h"
#include "formats/hf_config.h"
#include "formats/safetensors.h"

namespace hearth {

// `model` is what read_hf_config() made of `config`. All tensors are at offset 0, as if they shared
// one place. Errors (kUnsupported): a type that this program cannot read, Linears in another
// layout.
std::vector<SafeTensor> shapes_of_config(const ConfigReader& config, const HfConfig& model);

}  // namespace hearth
