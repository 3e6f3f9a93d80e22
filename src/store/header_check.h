// Whether a model would run here, from the first MiBs of its file: before the rest is fetched.
//
// Errors: (kUnsupported) an architecture or, as a TypeError, a type of weights that this version
// does not run; (kResource) weights with keys and values of 4096 positions that are beyond the
// memory; (kFile) what is no model file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/error.h"

namespace hearth {

struct ModelSpec;

// An error about the file's types: another file of the same model may run.
struct TypeError : Error {
  using Error::Error;
};

// The memory that a model may take here: the cgroup's limit or the machine's.
uint64_t memory_room();

// Checks the beginning of a GGUF file of `size` bytes, of `model_bytes` with its other parts.
// Returns false where the header goes on beyond `head`. `alone`: there are no other parts.
bool check_gguf_head(std::span<const std::byte> head, uint64_t size, uint64_t model_bytes,
                     bool alone, const std::string& name);

// Gives `use` what the header of a GGUF file without other parts says. Returns false where it goes
// on beyond `head`.
bool use_gguf_head(std::span<const std::byte> head, uint64_t size, const std::string& name,
                   const std::function<void(const ModelSpec&)>& use);

// Checks config.json of a folder with so many bytes of weights.
void check_config_head(std::span<const std::byte> config, uint64_t model_bytes,
                       const std::string& name);

// Returns a sentence that says why a model here would not run; empty where it would. `path` is
// MODEL of the command line.
std::string why_not(const std::string& path, uint64_t bytes);

}  // namespace hearth
