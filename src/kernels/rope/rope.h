// Rotary position embedding (Su et al. 2021): the rotation of one head's row, in place, and its
// frequencies. Pairs: kInterleaved (x[2i], x[2i+1]) as in Llama GGUF files, kHalf (x[i], x[i +
// n_rot/2]) as in GPT-NeoX and Qwen. Elements from n_rot on stay as they are.
#pragma once

#include <cstdint>
#include <vector>

namespace hearth {

enum class RopeLayout : uint8_t { kInterleaved, kHalf };
enum class RopeScaling : uint8_t { kNone, kLinear, kYarn };

struct RopeParams {
  RopeLayout layout = RopeLayout::kInterleaved;
  uint32_t n_rot = 0;  // even, <= head_dim
  double freq_base = 10000;
  RopeScaling scaling = RopeScaling::kNone;
  double factor = 1;            // positions are divided by it (linear, YaRN)
  double original_context = 0;  // YaRN: n_ctx_orig
  double yarn_ext_factor = 1;   // YaRN: 1 mixes by the ramp, 0 is plain linear
  double yarn_attn_factor = 1;  // the factor on cos and sin, with any scaling
  double yarn_growth = 0.1;     // the growth of cos and sin with ln(factor)
  double yarn_beta_fast = 32, yarn_beta_slow = 1;
  bool yarn_whole_pairs = true;  // the ramp's ends are rounded outwards
  std::vector<float>
      freq_factors;  // [n_rot / 2]: frequencies are divided by them (llama3); or empty
  // The factors in place of freq_factors if the model runs with a context of at most
  // original_context (LongRoPE, Ding et al. 2024); empty if the context changes nothing.
  std::vector<float> short_factors = {};

  bool operator==(const RopeParams&) const = default;
};

// Each pair's angle per position, [n_rot / 2], and the factor on cos and sin. The factor is
// attn_factor. With YaRN (Peng et al. 2023) it is attn_factor * (1 + growth ln(factor)), unless
// ext_factor is 0. `context` is how many positions a text may have. Throws kFile for parameters
// that no model can have.
struct RopeTable {
  std::vector<double> inverse_frequency;
  double magnitude;
};
RopeTable make_rope_table(const RopeParams& params, uint32_t context);

// Fills cos[i] and sin[i] for i < n_rot / 2 at `position`, computed in double, rounded once.
void rope_angles(const RopeTable& table, uint32_t position, float* cos, float* sin);

// Turns a row: y0 = x0 c - x1 s is fma(x0, c, -(x1 * s)), y1 is fma(x0, s, x1 * c). Every ISA level
// gives the same bits.
struct RopeArgs {
  float* x;
  const float* cos;  // [n_rot / 2]
  const float* sin;  // [n_rot / 2]
  uint32_t n_rot;
  RopeLayout layout;
};

}  // namespace hearth
