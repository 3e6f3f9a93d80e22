// Writes a model's tensors into one GGUF file, with the types that a WeightPolicy gives them when
// they are loaded: loading the file packs the same bytes.
//
// Tensors that no weight is made of, and those that the policy leaves, keep their type. The
// metadata is the source's, but for what tells of its types, of its division in files and of the
// importance matrix that it was quantised by.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "formats/model_source.h"
#include "models/model_spec.h"
#include "models/weight_policy.h"
#include "threads/team.h"

namespace hearth {

// Bytes of the source's tensors done, of all; from the calling thread.
using WriteReport = std::function<void(uint64_t done, uint64_t all)>;
using WriteBytes = std::function<void(std::span<const std::byte>)>;

// Throws (kUnsupported) for a source of another format than GGUF, before anything is written: the
// vocabulary of another is no metadata.
void require_gguf(const ModelSource& source);

// `spec` is made of the source with this policy, of which there is a type. The team's threads
// quantise; a tensor's pages are let go once it is written. write(bytes) appends to the file.
void write_quantized(const ModelSource& source, const ModelSpec& spec, const WeightPolicy& policy,
                     Team& team, const WriteBytes& write, const WriteReport& report);

}  // namespace hearth
