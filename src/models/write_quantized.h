// Writes a model's tensors into one GGUF file, with the types that a WeightPolicy gives them at
// loading. Loading this file packs the same bytes.
//
// Some tensors of a GGUF file keep their type: those that become no weight, and those that the
// policy does not change. Tensors of a folder that the policy does not change are written like
// llama.cpp's converter does, which changes no bit of a float: vectors and routers as F32, matrices
// as they are stored. GGUF has no types for FP8 and codes of other quantisers, which become BF16.
//
// The metadata is the source's, without the keys on its types, on its division into files and on
// the importance matrix that it was quantised by. A folder's metadata has no vocabulary; the caller
// adds keys for it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "formats/gguf_writer.h"
#include "formats/model_source.h"
#include "models/model_spec.h"
#include "models/weight_policy.h"
#include "threads/team.h"

namespace hearth {

// Gets how many bytes of the source's tensors are done, and how many there are. It is called on the
// thread that calls write_quantized().
using WriteReport = std::function<void(uint64_t done, uint64_t all)>;
using WriteBytes = std::function<void(std::span<const std::byte>)>;

// Returns whether the source is a GGUF file, whose metadata is complete.
bool is_gguf(const ModelSource& source);

// `spec` must be made of the source with a policy that has a type. `keys` are those that the
// source's metadata lacks. The team's threads quantise; a tensor's pages are released once it is
// written. write(bytes) appends to the file. Throws Error (kFile) if a scale of the source is
// invalid.
void write_quantized(const ModelSource& source, const ModelSpec& spec, const GgufWriter& keys,
                     Team& team, const WriteBytes& write, const WriteReport& report);

}  // namespace hearth
