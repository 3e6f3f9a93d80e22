// Finds how a device can give the bits of the contracts (kernels/*/*.h), by running small shaders
// on values chosen to show what a driver does otherwise: Vulkan leaves division and square roots
// two or three units of the last place, lets fma() round twice and subnormals become zeros.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hearth {

// Runs `count` invocations of shaders/NAME.comp, with or without FUSED, over the words `in` and
// returns the `out_words` words that they wrote.
using RunProbe = std::function<std::vector<uint32_t>(std::string_view name, bool fused,
                                                     std::span<const uint32_t> in, uint32_t count,
                                                     size_t out_words)>;

struct Arithmetic {
  bool fused = false;   // which of the two modules of each shader is right
  std::string text;     // "fused fma", "binary64 rounded to odd"
  std::string refused;  // what neither gives, in a sentence with the remedy; empty: nothing
};

Arithmetic probe_arithmetic(const RunProbe& run, bool has_float64);

}  // namespace hearth
