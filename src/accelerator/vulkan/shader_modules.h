// The shaders that the build compiles from shaders/*.comp and embeds in the program.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace hearth {

// Returns the SPIR-V of shaders/NAME.comp, compiled with or without FUSED (shaders/exact.glsl). The
// name must exist.
std::span<const uint32_t> shader_module(std::string_view name, bool fused);

}  // namespace hearth
