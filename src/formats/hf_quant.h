// Reads how a folder stores its Linears' weights: quantization_config, in config.json or its
// text_config, or modelopt's hf_quant_config.json, as one description for all quantisers.
//
// The files decide, by the names, types and shapes of a Linear's parts, whether it is quantised and
// in which of the described ways (formats/hf_stored.h); its bits and group size are checked against
// this description. So exclusions, whose patterns differ between quantisers, count only if the
// files are not at hand (formats/hf_shape.h).
//
// Errors: an impossible value (kFile), a quantiser or a layout that this program does not know
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
  // X.weight F8_E4M3 [N][K]; X.weight_scale or X.weight_scale_inv: one for all, [N][1], or one for
  // each block of 128 x 128.
  kFp8,
  kMxfp8,  // the same with E8M0 [N][K / 32], as U8 or F8_E8M0
  // X.weight_packed U8 [N][K / 2] of E2M1, the low nibble first; X.weight_scale E8M0 [N][K / 32].
  // Or X_blocks U8 [..][N][K / 32][16] and X_scales [..][N][K / 32].
  kMxfp4,
  // X.weight U8 [N][K / 2] and X.weight_scale E4M3 [N][K / 16], the product times X.weight_scale_2;
  // or X.weight_packed, with the product divided by X.weight_global_scale.
  kNvfp4,
  // X.weight_packed I32 [N][K / n], n = 32 / bits codes a word, the lowest bits first;
  // X.weight_scale [N][K / g]; X.weight_shape holds N, K. The value is s (q - z), where z is the
  // middle of the codes, or X.weight_zero_point I32 [N / n][K / g]. X.weight_g_idx I32 [K]: each
  // column's group.
  kPacked,
  kInt8,  // X.weight I8 [N][K], X.weight_scale [N][1] or [N][K / g]
  // X.qweight I32 [K / n][N], X.scales [K / g][N], X.qzeros I32 [K / g][N / n], X.g_idx I32 [K]:
  // the value is s (q - z), where z is the code in qzeros, plus 1 in the first version of the
  // format.
  kGptq,
  // X.qweight I32 [K][N / 8], X.qzeros I32 [K / g][N / 8], X.scales [K / g][N]: eight codes lie
  // in the order 0 2 4 6 1 3 5 7.
  kAwq,
};
// Returns the layout's name in messages and in `inspect`: "gptq".
const char* hf_layout_name(HfLayout layout);

// The elements that share a scale. kSquare: 128 x 128.
enum class HfScaled : uint8_t { kTensor, kRow, kGroup, kSquare };

struct HfWeights {
  HfLayout layout;
  uint32_t bits;
  HfScaled scaled;
  uint32_t group = 0;     // columns that share a scale, for kGroup
  bool symmetric = true;  // no zeros are stored
};

struct HfQuant {
  std::string method;  // the file's quant_method; empty: nothing is quantised
  std::vector<HfWeights> weights = {};
  bool varies = false;                 // some Linears have other bits or group sizes than `weights`
  uint32_t zero_offset = 0;            // what is added to stored zeros
  std::vector<std::string> kept = {};  // modules that are not quantised, as patterns

  // Returns the first entry of a layout, or null.
  const HfWeights* find(HfLayout layout) const;
  // Returns whether `kept` has the module's name, a module that contains it, or a pattern that
  // matches it: literals and .* (behind "re:") or * for any text.
  bool keeps(std::string_view module) const;
};

// Reads the quantisation from config.json, or its part that describes the text model.
HfQuant read_hf_quant(const ConfigReader& config);
// Reads the quantisation from modelopt's document.
HfQuant read_hf_quant_file(const ConfigReader& document);

}  // namespace hearth
