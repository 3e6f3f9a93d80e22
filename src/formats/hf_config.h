// What the config.json of a Hugging Face model says, as metadata with GGUF's names, and as what the
// reader of its tensors needs to know (formats/hf_tensors.h).
//
// Keys get the names and the meaning that llama.cpp's converter gives them: multi-head latent
// attention has one KV head of kv_lora_rank + qk_rope_head_dim elements and its own lengths under
// `*_mla`; YaRN's log multiplier is a tenth of mscale_all_dim; layers of multi-token prediction are
// not counted. Both names of RoPE's object are read, rope_scaling and rope_parameters.
//
// Errors: a value that cannot be (kFile), an architecture, a way of scaling RoPE, of quantisation
// or of anything else that this program cannot run (kUnsupported); one sentence with the key.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "formats/config_reader.h"
#include "formats/made_metadata.h"

namespace hearth {

// More is no config.json, nor another small document beside it.
inline constexpr uint64_t kMostConfigBytes = uint64_t{8} << 20;

// Of multi-head latent attention.
struct HfLatent {
  uint32_t nope_length, value_length, rank;
};

struct HfConfig {
  std::string architecture;  // by GGUF's name: "deepseek2"
  uint32_t layers = 0;
  uint32_t predict_layers = 0;  // behind these, of multi-token prediction
  uint32_t heads = 0, kv_heads = 0, head_length = 0;
  // The rows of a head of Q and K are stored as two halves, which GGUF interleaves.
  bool halves = false;
  bool tied = false;     // the embedding table is the head
  uint32_t experts = 0;  // of a layer; 0: none
  std::optional<HfLatent> latent;
  std::vector<float> rope_factors;  // of llama3's scaling: rope_freqs.weight
  // Of an encoder (formats/hf_encoder_config.h):
  bool encoder = false;
  uint32_t ffn = 0;
  uint32_t context = 0;          // rows of the table of positions that are in use
  uint32_t positions_first = 0;  // those before are of no position
  uint32_t pooling = 0;          // by GGUF's number; 0: the file does not say
};

// Adds the keys to `metadata`, but of an encoder's context and pooling, which other files say more
// of (formats/hf_modules.h).
HfConfig read_hf_config(const ConfigReader& config, MadeMetadata& metadata);

// Adds the keys general.sampling.* of a generation_config.json.
void read_generation_config(const ConfigReader& config, MadeMetadata& metadata);

}  // namespace hearth
