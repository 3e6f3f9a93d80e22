// Reads the config.json of a Hugging Face model by the rows of its family (formats/hf_family.h):
// into metadata with GGUF's names, and into the numbers that the reader of its tensors needs
// (formats/hf_tensors.h).
//
// Keys get the names and the meaning that llama.cpp's converter gives them; layers of multi-token
// prediction are not counted. If a family describes its text part in text_config, that object is
// read; keys that it lacks are looked up in the object around it.
//
// Errors, in one sentence with the key: an impossible value (kFile); an architecture, a scaling of
// RoPE, a quantisation or anything else that this program cannot run (kUnsupported).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "formats/config_reader.h"
#include "formats/hf_family.h"
#include "formats/hf_quant.h"
#include "formats/made_metadata.h"

namespace hearth {

// The limit on a config.json and on other small documents beside it: no real one is larger.
inline constexpr uint64_t kMaxConfigBytes = uint64_t{8} << 20;

struct HfConfig {
  const HfFamily* family;
  std::array<uint32_t, kHfKeptValues> kept = {};
  std::vector<float> rope_factors = {};  // rope_freqs.weight, of scalings that need it
  HfQuant quant = {};                    // how Linears are stored
  std::vector<bool> recurrent = {};      // by layer: it keeps a recurrent state; empty: none
  // Values that differ between layers, with a number for each layer.
  std::vector<std::pair<HfValue, std::vector<uint32_t>>> by_layer = {};

  uint64_t operator[](HfValue value) const;
  bool is_recurrent(uint32_t layer) const { return layer < recurrent.size() && recurrent[layer]; }
  // Sets the value to `number`; does nothing for kNone and kOne, which are constant.
  void keep(HfValue value, uint32_t number);
  // Sets the values that `by_layer` lists to their numbers for one layer.
  void keep_layer(uint32_t layer);
  // Returns the key in GGUF: "qwen3.block_count".
  std::string key(std::string_view name) const;
};

// The arguments of a function that reads a part of config.json.
struct HfReading {
  const ConfigReader& config;
  MadeMetadata& metadata;
  HfConfig& model;

  template <typename T>
  void set(std::string_view key, const T& value) const {
    metadata.set(model.key(key), value);
  }
};

// Reads config.json into `metadata` and the returned numbers. Does not write an encoder's context
// and pooling into `metadata`, since other files may change them (formats/hf_modules.h).
HfConfig read_hf_config(const ConfigReader& config, HfFamilies families, MadeMetadata& metadata);

// Returns a reader of the part of config.json that describes the text model.
ConfigReader hf_text_part(const ConfigReader& config, const HfFamily& family);

// Adds the keys general.sampling.* from a generation_config.json.
void read_generation_config(const ConfigReader& config, MadeMetadata& metadata);

}  // namespace hearth
