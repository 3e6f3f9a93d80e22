// Writes a model's tensors into one GGUF file, with the types that a WeightPolicy gives them when
// they are loaded: loading the file packs the same bytes.
//
// Of a GGUF file, tensors that no weight is made of, and those that the policy leaves, keep their
// type. Those of a folder that the policy leaves are written as llama.cpp's converter has them,
// which moves no bit of a float: vectors and routers as F32, matrices as they are stored, but FP8
// and codes of other quantisers, which GGUF has no types for, as BF16.
//
// The metadata is the source's, but for what tells of its types, of its division in files and of
// the importance matrix that it was quantised by; a folder's has no vocabulary, for which the
// caller adds keys.
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

// Is told how many bytes of the source's tensors are done, of how many. Called on the thread that
// calls write_quantized().
using WriteReport = std::function<void(uint64_t done, uint64_t all)>;
using WriteBytes = std::function<void(std::span<const std::byte>)>;

// Whether the source is a GGUF file, whose metadata is complete.
bool is_gguf(const ModelSource& source);

// `spec` is made of the source with a policy that has a type. `keys` are those that the source's
// metadata lacks. The team's threads quantise; a tensor's pages are let go once it is written.
// write(bytes) appends to the file. Throws (kFile) where a scale of the source is none.
void write_quantized(const ModelSource& source, const ModelSpec& spec, const GgufWriter& keys,
                     Team& team, const WriteBytes& write, const WriteReport& report);

}  // namespace hearth
