// Checks from the first MiBs of a model's file whether it would run here, before the rest is
// fetched.
//
// Errors: (kUnsupported) an architecture or, as a TypeError, a type of weights that this version
// does not run; (kResource) weights and keys and values of 4096 positions that exceed the memory;
// (kFile) a file that is no model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/error.h"

namespace hearth {

struct ModelSpec;

// TypeError: an error about the types of weights: another file of the same model may run.
struct TypeError : Error {
  using Error::Error;
};

// Returns the bytes of memory that a model may take here: the cgroup's limit or the machine's
// memory.
uint64_t memory_room();

// Checks the beginning of a GGUF file of `size` bytes, which belongs to a model whose parts have
// `model_bytes` together. Returns false where the header is longer than `head`. `alone`: the model
// has no other parts.
bool check_gguf_head(std::span<const std::byte> head, uint64_t size, uint64_t model_bytes,
                     bool alone, const std::string& name);

// Calls `use` with the ModelSpec of a GGUF file that has no other parts. Returns false where the
// header is longer than `head`.
bool use_gguf_head(std::span<const std::byte> head, uint64_t size, const std::string& name,
                   const std::function<void(const ModelSpec&)>& use);

// Checks the config.json of a folder whose weights have `model_bytes`.
void check_config_head(std::span<const std::byte> config, uint64_t model_bytes,
                       const std::string& name);

// Returns a sentence that says why a local model would not run; empty where it would. `path`: MODEL
// as on the command line.
std::string why_not(const std::string& path, uint64_t bytes);

}  // namespace hearth
