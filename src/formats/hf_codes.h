// Quantised Linears of a folder of safetensors, each stored as codes with scales and zeros beside
// them: finds their tensors by name and describes each as StoredCodes (formats/stored_codes.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/hf_quant.h"
#include "formats/hf_stored.h"
#include "formats/safetensors.h"
#include "formats/stored_codes.h"

namespace hearth {

// The role of a tensor, by its name, in a model with quantised Linears.
enum class HfRole : uint8_t {
  kWhole,   // a tensor by itself, or the codes of a Linear
  kPart,    // scales and the like of a Linear
  kUnused,  // a scale of activations, or of cached keys and values
};
HfRole hf_role(std::string_view name);

// The name that the Linear gets whose codes have this one: X.weight of X.qweight; other names stay.
std::string hf_whole_name(std::string_view name);

// Whether the tensor holds a Linear's codes that are no element type: of FP8 only those whose
// scales are E8M0.
bool holds_codes(const SafeTensor& tensor, const HfStored& stored);

struct HfLinear {
  StoredCodes codes;
  std::vector<uint64_t> shape;  // ends in N, K
};

// Describes the Linear whose codes `tensor` holds, and takes all of its parts. Errors (kFile):
// parts that are missing, or do not fit each other or what `quant` says; groups beyond those there
// are.
HfLinear make_hf_linear(const SafeTensor& tensor, const HfQuant& quant, HfStored& stored);

}  // namespace hearth
