// RoPE by the config.json of a Hugging Face model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "formats/config_reader.h"
#include "formats/made_metadata.h"

namespace hearth {

struct HfRope {
  std::string prefix;  // of keys: "qwen3."
  uint32_t length;     // of a head
  uint32_t context;    // of the model
  double base = 1e4;   // where the file says none
  // Scores grow with the scaling too, by a key of their own (multi-head latent attention).
  bool scaled_scores = false;
};

// The object that holds RoPE's settings, whichever of its names it has; the settings of layers of
// one kind where it has an object for each kind. Throws (kUnsupported) where these differ.
std::optional<ConfigReader> rope_object(const ConfigReader& config);

// Adds the keys <prefix>rope.*; returns the factors of llama3's scaling, none for others.
std::vector<float> read_hf_rope(const ConfigReader& config, const HfRope& rope,
                                MadeMetadata& metadata);

}  // namespace hearth
