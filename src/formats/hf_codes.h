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

// The role that a tensor has by its name in a model with quantised Linears.
enum class HfRole : uint8_t {
  kWhole,   // an unquantised tensor, or the codes of a Linear
  kPart,    // scales, zeros or the like of a Linear
  kUnused,  // scales of activations, or of the KV cache
};
HfRole hf_role(std::string_view name);

// Returns the name of the Linear whose codes have this name: X.weight for X.qweight; other names
// are returned unchanged.
std::string hf_whole_name(std::string_view name);

// Returns whether the tensor holds a Linear's codes that no DType describes. FP8 counts only if its
// scales are E8M0.
bool holds_codes(const SafeTensor& tensor, const HfStored& stored);

struct HfLinear {
  StoredCodes codes;
  std::vector<uint64_t> shape;  // ends in N, K
};

// Describes the Linear whose codes `tensor` holds, and marks all of its parts as used. Errors
// (kFile): parts that are missing, or that contradict each other or `quant`; group indices out of
// range.
HfLinear make_hf_linear(const SafeTensor& tensor, const HfQuant& quant, HfStored& stored);

}  // namespace hearth
