// Finds out by which arithmetic a device can give the bits of the contracts (kernels/*/*.h). It
// runs small shaders on values chosen to show differences. Vulkan allows division and square root
// errors of two or three units in the last place. It also allows fma() to round twice, and
// subnormal numbers to become zeros.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hearth {

// Runs `count` invocations of shaders/NAME.comp, compiled with or without FUSED, on the words `in`.
// Returns the `out_words` words that they write.
using RunProbe = std::function<std::vector<uint32_t>(std::string_view name, bool fused,
                                                     std::span<const uint32_t> in, uint32_t count,
                                                     size_t out_words)>;

struct Arithmetic {
  bool fused = false;   // whether to use the fused module of each shader
  std::string text;     // "fused fma", "binary64 rounded to odd"
  std::string refused;  // what neither module computes right, with the remedy
};

Arithmetic probe_arithmetic(const RunProbe& run, bool has_float64);

}  // namespace hearth
