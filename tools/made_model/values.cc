#include "values.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "base/check.h"

namespace hearth {
namespace {

constexpr size_t kDraws = 65536;
constexpr float kHeadGain = 2.5f;  // the standard deviation of logits

e4m3_t to_e4m3(float value) {
  e4m3_t best = 0;
  for (uint32_t code = 0; code < 0x7f; ++code) {
    const auto at = static_cast<e4m3_t>(code);
    if (std::abs(e4m3_to_f32(at) - std::abs(value)) <
        std::abs(e4m3_to_f32(best) - std::abs(value))) {
      best = at;
    }
  }
  return value < 0 ? static_cast<e4m3_t>(best | 0x80u) : best;
}

int8_t to_int(float value, float least, float most) {
  return static_cast<int8_t>(std::clamp(std::nearbyint(value), least, most));
}

template <typename T>
using Codes = std::vector<T>;

template <typename T, typename Make>
Codes<T> codes_of(const std::vector<float>& normal, Make make) {
  Codes<T> codes(normal.size());
  std::transform(normal.begin(), normal.end(), codes.begin(), make);
  return codes;
}

// Calls next() once for every four of `count` codes.
template <typename T, typename Next>
void draw(const Codes<T>& codes, std::byte* out, size_t count, Next next) {
  T four[4];
  for (size_t i = 0; i < count; i += 4) {
    const uint64_t random = next();
    for (size_t j = 0; j < 4; ++j) four[j] = codes[random >> 16 * j & 0xffff];
    std::memcpy(out + i * sizeof(T), four, std::min<size_t>(4, count - i) * sizeof(T));
  }
}

}  // namespace

Normal normal_of(std::string_view name, uint64_t k, const Traits& of) {
  const float root = std::sqrt(static_cast<float>(k));
  // Heads have 256 elements; these gains give scores a deviation of 2.
  if (of.plain_scores && (has(name, "q_norm") || has(name, "k_norm"))) return {0.35f, 0.03f};
  if (has(name, "norm")) return {1, 0.1f};
  if (has(name, "layer_scalar") || has(name, "layer_output_scale")) return {1, 0.1f};
  if (has(name, "per_expert_scale") || has(name, "ffn_down_exps.scale")) return {1, 0.1f};
  // The router's scale weights its input, and logits are divided by the root of the width.
  if (has(name, "router.scale") || has(name, "gate_inp.scale")) return {root, 0.1f * root};
  if (has(name, "ssm_a") && !has(name, "alpha")) return {-1, 0.1f};  // rates of decay
  if (has(name, "A_log")) return {0, 1};
  if (has(name, "sinks")) return {0, 1};
  if (has(name, "bias")) return {0, 0.05f};
  // This is the table of all layers together. Each layer's part is scaled by the root of its
  // length.
  if (has(name, "embed_tokens_per_layer") || has(name, "per_layer_token_embd")) {
    return {0, std::sqrt(static_cast<float>(of.layers)) / root};
  }
  if (has(name, "embed_tokens") || has(name, "token_embd")) {
    return {0, of.scaled_embedding ? 1 / root : of.tied ? kHeadGain / root : 1};
  }
  float gain = 1.2f;
  if (has(name, "o_proj") || has(name, "down") || has(name, "w2") || has(name, "attn_output") ||
      has(name, "ssm_out") || has(name, "out_proj")) {
    gain = 2 / std::sqrt(2 * static_cast<float>(of.layers));
  }
  if (has(name, "mlp.gate.") || has(name, "moe.gate.") || has(name, "gate_inp") ||
      has(name, "mlp.router.") || has(name, "router.proj")) {
    gain = 2;
  }
  if (has(name, "lm_head") || name == "output.weight") gain = kHeadGain;
  return {0, gain / root};
}

Values::Values(uint64_t seed) : state_(seed), normal_(kDraws) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  for (float& value : normal_) value = normal(random);
}

// SplitMix64 (Steele, Lea, Flood 2014).
uint64_t Values::next() {
  uint64_t z = state_ += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

void Values::fill_random(std::span<std::byte> out) {
  for (size_t i = 0; i < out.size(); i += sizeof(uint64_t)) {
    const uint64_t random = next();
    std::memcpy(out.data() + i, &random, std::min(sizeof random, out.size() - i));
  }
}

// Uniform codes of E2M1 have a deviation of 2.93.
uint8_t mxfp4_exponent(float deviation) {
  return static_cast<uint8_t>(
      std::clamp(127 + std::lround(std::log2(deviation / 2.93f)), 1l, 254l));
}

// Uniform codes have a deviation of 9.2.
void Values::fill_q5_0(float deviation, std::span<std::byte> out) {
  const size_t bytes = dtype_info(DType::kQ5_0).block_bytes;
  fill_random(out);
  const f16_t scale = f32_to_f16(deviation / 9.2f);
  for (size_t at = 0; at + bytes <= out.size(); at += bytes) {
    std::memcpy(out.data() + at, &scale, sizeof scale);
  }
}

void Values::fill_mxfp4(float deviation, std::span<std::byte> out) {
  const size_t bytes = dtype_info(DType::kMXFP4).block_bytes;
  fill_random(out);
  const auto exponent = static_cast<std::byte>(mxfp4_exponent(deviation));
  for (size_t at = 0; at < out.size(); at += bytes) out[at] = exponent;
}

// All blocks of a super-block have one scale. Codes are uniform.
void Values::fill_super_blocks(DType type, float deviation, std::span<std::byte> out) {
  const size_t bytes = dtype_info(type).block_bytes;
  fill_random(out);
  for (size_t at = 0; at + bytes <= out.size(); at += bytes) {
    std::byte* block = out.data() + at;
    if (type == DType::kQ4_K) {
      // Scales and minima are 32, in 6 bits. The minimum of 7.5 codes moves the mean to zero.
      const f16_t scale = f32_to_f16(deviation / 4.6f / 32);
      const f16_t minimum = f32_to_f16(deviation / 4.6f / 32 * 7.5f);
      std::memcpy(block, &scale, sizeof scale);
      std::memcpy(block + 2, &minimum, sizeof minimum);
      std::memset(block + 4, 0xa0, 8);
      std::memset(block + 12, 0, 4);
    } else {
      const f16_t scale = f32_to_f16(deviation / 18.5f / 64);
      std::memset(block + 192, 64, 16);
      std::memcpy(block + 208, &scale, sizeof scale);
    }
  }
}

void Values::fill(DType type, Normal spread, std::span<std::byte> out) {
  auto random = [this] { return next(); };
  auto value = [&](float x) { return spread.mean + spread.deviation * x; };
  auto fill_with = [&](const auto& codes) {
    draw(codes, out.data(), out.size() / sizeof codes[0], random);
  };
  // Each block has 32 elements, with a scale before them.
  auto fill_blocks = [&](float scale, size_t bytes, const auto& codes) {
    const f16_t f16 = f32_to_f16(scale);
    for (size_t at = 0; at + 2 + bytes <= out.size(); at += 2 + bytes) {
      std::memcpy(out.data() + at, &f16, sizeof f16);
      draw(codes, out.data() + at + 2, bytes, random);
    }
  };
  switch (type) {
    case DType::kF32:
      return fill_with(codes_of<float>(normal_, value));
    case DType::kF16:
      return fill_with(codes_of<f16_t>(normal_, [&](float x) { return f32_to_f16(value(x)); }));
    case DType::kBF16:
      return fill_with(codes_of<bf16_t>(normal_, [&](float x) { return f32_to_bf16(value(x)); }));
    case DType::kF8E4M3:
      if (fp8_.empty()) {
        fp8_ = codes_of<e4m3_t>(normal_, [](float x) { return to_e4m3(x * kFp8Deviation); });
      }
      return fill_with(fp8_);
    case DType::kQ8_0:
      return fill_blocks(spread.deviation / 32, 32, codes_of<int8_t>(normal_, [](float x) {
                           return to_int(32 * x, -127, 127);
                         }));
    case DType::kQ4_0: {
      // A byte has two elements. They come from pairs of draws side by side in the table.
      Codes<uint8_t> codes(kDraws);
      auto nibble = [&](size_t i) { return to_int(3 * normal_[i % kDraws], -8, 7) + 8; };
      for (size_t i = 0; i < kDraws; ++i) {
        codes[i] = static_cast<uint8_t>(nibble(i) | nibble(i + 1) << 4);
      }
      return fill_blocks(spread.deviation / 3, 16, codes);
    }
    case DType::kQ5_0:
      return fill_q5_0(spread.deviation, out);
    case DType::kMXFP4:
      return fill_mxfp4(spread.deviation, out);
    case DType::kQ4_K:
    case DType::kQ6_K:
      return fill_super_blocks(type, spread.deviation, out);
    default:
      HEARTH_CHECK(false, "callers name the types above");
  }
}

}  // namespace hearth
