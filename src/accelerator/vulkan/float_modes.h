// Adds to a shader's module the request for IEEE 754 arithmetic of floats. GLSL has no words for
// it, and a driver refuses a module that asks for modes that it does not have. So the modes are
// added when the program knows which of them the device offers. If the device offers none, the
// probes (probe.h) find how it computes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hearth {

// The modes that a device offers for floats of 32 bits.
struct FloatModes {
  bool keep_subnormals = false;
  bool round_to_even = false;
  bool keep_special = false;  // keeps signs of zeros, infinities and NaN

  bool operator==(const FloatModes&) const = default;
};

// Returns the module with these modes. It must be SPIR-V 1.4 or later with one entry point.
std::vector<uint32_t> with_float_modes(std::span<const uint32_t> module, const FloatModes& modes);

}  // namespace hearth
