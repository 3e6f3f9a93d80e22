// Reads RoPE's settings from the config.json of a Hugging Face model, by the rules of its family
// (HfRope): sets the keys rope.*, keeps the number of a head's rotated elements, and the factors of
// llama3's scaling. YaRN's log multiplier is a tenth of mscale_all_dim. Both names of the settings'
// object are read, rope_scaling and rope_parameters.
//
// Throws (kUnsupported) if layers have different settings and the family allows only one.
#pragma once

#include "formats/hf_config.h"

namespace hearth {

void read_hf_rope(const HfReading& reading);

}  // namespace hearth
