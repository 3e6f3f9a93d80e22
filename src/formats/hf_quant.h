// Reads how a folder stores its Linears' weights: quantization_config, in config.json or its
// text_config, or modelopt's hf_quant_config.json, as one description for all quantisers.
//
// Whether a Linear is quantised at all, and which of the ways that are listed it has, the files
// tell by the names, types and shapes of its parts (formats/hf_stored.h); its bits and columns of
// a scale are held against these rows. So exclusions, whose patterns every quantiser spells in a
// way of its own, count only where the files are not at hand (formats/hf_shape.h).
//
// Errors: a value that cannot be (kFile), a quantiser or a layout that this program does not know
// (kUnsupported), with what to take instead.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/config_reader.h"

namespace hearth {

// modelopt's document beside config.json.
inline constexpr std::string_view kHfQuantFile = "hf_quant_config.json";

// How the weight [N][K] of a Linear X is stored; g columns share a scale.
enum class HfLayout : uint8_t {
  // X.weight F8_E4M3 [N][K]; X.weight_scale or X.weight_scale_inv: one, [N][1], or one a block of
  // 128 x 128.
  kFp8,
  kMxfp8,  // the same with E8M0 [N][K / 32], as U8 or F8_E8M0
  // X.weight_packed U8 [N][K / 2], the low nibble first, of E2M1; X.weight_scale E8M0 [N][K / 32].
  // Or X_blocks U8 [..][N][K / 32][16] and X_scales [..][N][K / 32].
  kMxfp4,
  // X.weight U8 [N][K / 2] and X.weight_scale E4M3 [N][K / 16], both times X.weight_scale_2; or
  // X.weight_packed, all over X.weight_global_scale.
  kNvfp4,
  // X.weight_packed I32 [N][K / n], n = 32 / bits codes a word, the lowest bits first;
  // X.weight_scale [N][K / g]; X.weight_shape is N, K; the value is s (q - z), where z is half of
  // the codes, or X.weight_zero_point I32 [N / n][K / g]. X.weight_g_idx I32 [K]: a column's group.
  kPacked,
  kInt8,  // X.weight I8 [N][K], X.weight_scale [N][1] or [N][K / g]
  // X.qweight I32 [K / n][N], X.scales [K / g][N], X.qzeros I32 [K / g][N / n], X.g_idx I32 [K]:
  // s (q - z), where z is the code in qzeros, and 1 more by the first form of the format.
  kGptq,
  // X.qweight I32 [K][N / 8], X.qzeros I32 [K / g][N / 8], X.scales [K / g][N]: eight codes lie
  // in the order 0 2 4 6 1 3 5 7.
  kAwq,
};
// "gptq", as messages and `inspect` name it.
const char* hf_layout_name(HfLayout layout);

// The elements that share a scale; kSquare: 128 x 128. 128 x 128.
enum class HfScaled : uint8_t { kTensor, kRow, kGroup, kSquare };

struct HfWeights {
  HfLayout layout;
  uint32_t bits;
  HfScaled scaled;
  uint32_t group = 0;     // columns of a scale, of kGroup
  bool symmetric = true;  // no zeros are stored
};

struct HfQuant {
  std::string method;  // as the file names it; empty: nothing is quantised
  std::vector<HfWeights> weights = {};
  bool varies = false;       // some Linears have other bits, or groups, than `weights` say
  uint32_t zero_offset = 0;  // what is added to stored zeros
  std::vector<std::string> kept = {};  // modules that are not quantised, as patterns

  // Returns the first row of a layout, or null.
  const HfWeights* find(HfLayout layout) const;
  // Whether `kept` has a module, by its name, that of one that it is in, or a pattern of literals
  // and of .* (behind "re:") or * for any text.
  bool keeps(std::string_view module) const;
};

// Reads the part of config.json that describes the model's text.
HfQuant read_hf_quant(const ConfigReader& config);
// Reads modelopt's document in the same way.
HfQuant read_hf_quant_file(const ConfigReader& document);

}  // namespace hearth
