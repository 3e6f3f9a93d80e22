// Finds how a device can give the bits of the contracts (kernels/*/*.h). It runs small shaders on
// values chosen to show differences. Vulkan allows division and square roots errors of two or three
// units of the last place, and lets fma() round twice and subnormals become zeros.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hearth {

// Runs `count` invocations of shaders/NAME.comp, with or without FUSED, over the words `in`.
// Returns the `out_words` words that they wrote.
using RunProbe = std::function<std::vector<uint32_t>(std::string_view name, bool fused,
                                                     std::span<const uint32_t> in, uint32_t count,
                                                     size_t out_words)>;

struct Arithmetic {
  bool fused = false;   // true: the fused module of each shader is right; else the other
  std::string text;     // "fused fma", "binary64 rounded to odd"
  std::string refused;  // what neither module gives, with the remedy; empty: nothing
};

Arithmetic probe_arithmetic(const RunProbe& run, bool has_float64);

}  // namespace hearth
