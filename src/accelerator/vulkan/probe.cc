#include "accelerator/vulkan/probe.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "kernels/simd/exp.h"

namespace hearth {

namespace {

constexpr uint32_t kProbed = 1 << 15;  // how many values each operation gets

bool same_value(float want, uint32_t got) {
  if (std::isnan(want)) return std::isnan(std::bit_cast<float>(got));
  return std::bit_cast<uint32_t>(want) == got;
}

// Makes values that show how a device rounds: values of all sizes, near each other, subnormal or
// special.
class ProbeValues {
 public:
  uint32_t bits() {
    state_ += 0x9e3779b97f4a7c15u;  // splitmix64
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return static_cast<uint32_t>((z ^ (z >> 31)) >> 32);
  }
  // Returns a float with an exponent of -8 to 7.
  float mild() {
    const uint32_t b = bits();
    return std::bit_cast<float>((b & 0x807fffffu) | (119 + (b >> 23 & 15)) << 23);
  }
  float subnormal() { return std::bit_cast<float>(bits() & 0x807fffffu); }
  float of_any_size() {
    const float x = std::bit_cast<float>(bits());
    return std::isnan(x) ? 1.0f : x;
  }
  float any() {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    constexpr float kSpecial[] = {0.0f,      -0.0f,      1.0f,      -1.0f,
                                  kInfinity, -kInfinity, 0x1p-126f, 0x1p-149f};
    const uint32_t kind = bits() % 16;
    if (kind == 0) return kSpecial[bits() % 8];
    if (kind < 4) return subnormal();
    return kind < 10 ? of_any_size() : mild();
  }
  // Returns a float whose mantissa has `n` bits, the last of them 1.
  float short_mantissa(uint32_t n) {
    const uint32_t last = 1u << (24 - n);
    return std::bit_cast<float>((std::bit_cast<uint32_t>(mild()) & ~(last - 1)) | last);
  }

 private:
  uint64_t state_ = 2026;
};

// Returns three floats a, b and c. They are chosen so that fma(a, b, c) differs if a device rounds
// twice or loses subnormal numbers.
std::array<float, 3> hard_triple(ProbeValues& values, uint32_t kind) {
  const float a = values.mild(), b = values.mild();
  switch (kind % 5) {
    case 0:
      return {a, b, values.mild()};
    case 1:  // the result is the part of the product that rounding drops
      return {a, b, -(a * b)};
    case 2: {  // the result lies next to the middle of two floats
      const float p = values.short_mantissa(13), q = values.short_mantissa(12);
      return {p, q, values.mild() * 0x1p-70f};
    }
    case 3:
      return {a * 0x1p-70f, b * 0x1p-70f, values.subnormal()};
    default:
      return {values.any(), values.any(), values.any()};
  }
}

enum class FusedFault : uint8_t { kNone, kAlone, kChained, kExp };

FusedFault check_fused(const RunProbe& run, bool fused) {
  ProbeValues values;
  std::vector<uint32_t> in(4 * size_t{kProbed});
  for (uint32_t i = 0; i < kProbed; ++i) {
    const std::array<float, 3> triple = hard_triple(values, i);
    for (uint32_t j = 0; j < 3; ++j) in[4 * i + j] = std::bit_cast<uint32_t>(triple[j]);
    const float x = -100.0f * static_cast<float>(values.bits()) * 0x1p-32f;
    in[4 * i + 3] = std::bit_cast<uint32_t>(i % 8 == 0 ? -std::fabs(values.any()) : x);
  }
  const std::vector<uint32_t> out = run("probe_fused", fused, in, kProbed, 3 * size_t{kProbed});
  HEARTH_CHECK(out.size() == 3 * size_t{kProbed}, "a probe gives what it was asked for");
  FusedFault fault = FusedFault::kNone;
  for (uint32_t i = 0; i < kProbed; ++i) {
    const float a = std::bit_cast<float>(in[4 * i]), b = std::bit_cast<float>(in[4 * i + 1]);
    const float c = std::bit_cast<float>(in[4 * i + 2]), x = std::bit_cast<float>(in[4 * i + 3]);
    const float first = std::fma(a, b, c);
    if (!same_value(first, out[3 * i])) return FusedFault::kAlone;
    if (!same_value(std::fma(first, b, a), out[3 * i + 1])) fault = FusedFault::kChained;
    if (!same_value(exp_nonpositive(x), out[3 * i + 2])) fault = FusedFault::kExp;
  }
  return fault;
}

struct BasicOperation {
  const char* name;
  float (*of)(float a, float b);
};

// The operations, in the order in which shaders/probe_basic.comp writes their results. After them
// it writes the dot product's.
constexpr BasicOperation kBasicOperations[] = {
    {"multiplication", [](float a, float b) { return a * b; }},
    {"addition", [](float a, float b) { return a + b; }},
    {"a product and then a sum", [](float a, float b) { return a * b + b; }},
    {"rounding to an integer", [](float a, float) { return std::nearbyint(a); }},
    {"conversion of integers",
     [](float a, float) { return static_cast<float>(std::bit_cast<int32_t>(a)); }},
    {"division", [](float a, float b) { return a / b; }},
    {"the square root", [](float a, float) { return std::sqrt(a); }},
};
constexpr uint32_t kBasicWords = std::size(kBasicOperations) + 1;

uint32_t signed_dot(uint32_t x, uint32_t y) {
  int32_t sum = 0;
  for (uint32_t shift = 0; shift < 32; shift += 8) {
    sum += static_cast<int8_t>(x >> shift & 0xff) * static_cast<int8_t>(y >> shift & 0xff);
  }
  return static_cast<uint32_t>(sum);
}

bool is_subnormal(float x) { return std::fpclassify(x) == FP_SUBNORMAL; }

// Returns the name of the first operation whose results are wrong; empty: none is.
std::string check_basic(const RunProbe& run) {
  ProbeValues values;
  std::vector<uint32_t> in(2 * size_t{kProbed});
  for (uint32_t& word : in) word = std::bit_cast<uint32_t>(values.any());
  const size_t words = size_t{kBasicWords} * kProbed;
  const std::vector<uint32_t> out = run("probe_basic", false, in, kProbed, words);
  HEARTH_CHECK(out.size() == words, "a probe gives what it was asked for");
  for (uint32_t op = 0; op < kBasicWords; ++op) {
    const bool dot = op + 1 == kBasicWords;
    uint32_t wrong = 0, wrong_normal = 0;
    for (uint32_t i = 0; i < kProbed; ++i) {
      const uint32_t got = out[size_t{kBasicWords} * i + op], x = in[2 * i], y = in[2 * i + 1];
      if (dot) {
        wrong_normal += got != signed_dot(x, y);
        continue;
      }
      const float a = std::bit_cast<float>(x), b = std::bit_cast<float>(y);
      const float want = kBasicOperations[op].of(a, b);
      if (same_value(want, got)) continue;
      const bool small =
          is_subnormal(a) || is_subnormal(b) || is_subnormal(a * b) || is_subnormal(want);
      ++(small ? wrong : wrong_normal);
    }
    if (wrong_normal > 0) {
      return fmt::format("{} of its shaders is not exact: {} of {} values differ",
                         dot ? "the dot product of bytes" : kBasicOperations[op].name, wrong_normal,
                         kProbed);
    }
    if (wrong > 0) {
      return fmt::format("{} of its shaders loses subnormals: {} of {} values differ",
                         kBasicOperations[op].name, wrong, kProbed);
    }
  }
  return "";
}

const char* fault_text(FusedFault fault) {
  switch (fault) {
    case FusedFault::kNone:
      return "are right";
    case FusedFault::kAlone:
      return "are not rounded once";
    case FusedFault::kChained:
      return "are not rounded once where one follows another";
    case FusedFault::kExp:
      return "give another exponential";
  }
  return "";
}

}  // namespace

Arithmetic probe_arithmetic(const RunProbe& run, bool has_float64) {
  constexpr const char* kRemedy = "install another driver, or use another accelerator";
  Arithmetic found;
  const FusedFault fused = check_fused(run, true);
  found.fused = fused == FusedFault::kNone;
  found.text = found.fused ? "fused fma" : "binary64 rounded to odd";
  if (!found.fused && !has_float64) {
    found.refused = fmt::format("its fused products {}, and it lacks shaderFloat64; {}",
                                fault_text(fused), kRemedy);
    return found;
  }
  if (!found.fused) {
    const FusedFault doubles = check_fused(run, false);
    if (doubles != FusedFault::kNone) {
      found.refused = fmt::format("its fused products {}, and those by binary64 {}; {}",
                                  fault_text(fused), fault_text(doubles), kRemedy);
      return found;
    }
  }
  const std::string basic = check_basic(run);
  if (!basic.empty()) found.refused = fmt::format("{}; {}", basic, kRemedy);
  return found;
}

}  // namespace hearth
