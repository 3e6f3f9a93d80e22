// Sliding windows by the config.json of a Hugging Face model, by the rules of its family
// (HfWindows): sets attention.sliding_window where a layer has one, and
// attention.sliding_window_pattern, true for each that has, where layers differ.
#pragma once

#include "formats/hf_config.h"

namespace hearth {

void read_hf_windows(const HfReading& reading);

}  // namespace hearth
