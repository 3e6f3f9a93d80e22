// Asks a driver, in a shader's module, for the arithmetic of floats that IEEE 754 describes. GLSL
// has no words for it, and a module that asks for what a driver does not have is refused: so the
// words go in when it is known what there is. Where a driver has none, the probes see what it does
// by itself.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hearth {

// The modes of floats of 32 bits that a device offers.
struct FloatModes {
  bool keep_subnormals = false;
  bool round_to_even = false;
  bool keep_special = false;  // signs of zeros, infinities and NaN

  bool operator==(const FloatModes&) const = default;
};

// Returns the module, of SPIR-V 1.4 or later with one entry point, with the modes.
std::vector<uint32_t> with_float_modes(std::span<const uint32_t> module, const FloatModes& modes);

}  // namespace hearth
