// Recognises GGUF files, and names what people hand to a GGUF reader by mistake.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace hearth {

inline constexpr uint32_t kGgufMinVersion = 2;
inline constexpr uint32_t kGgufMaxVersion = 3;
// The header's size: magic, version, number of tensors, number of metadata keys.
inline constexpr size_t kGgufHeaderBytes = 24;

// Returns the version if `bytes` begin with the header of a GGUF file that can be read. Otherwise
// throws (kFile) with what the file looks like and what to do about it.
uint32_t check_gguf_magic(std::span<const std::byte> bytes, const std::string& name);

}  // namespace hearth
