// Sliding windows by the config.json of a Hugging Face model, by the rules of its family
// (HfWindows): sets attention.sliding_window where a layer has one, and
// attention.sliding_window_pattern, true for each that has, where layers differ.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "formats/hf_config.h"

namespace hearth {

void read_hf_windows(const HfReading& reading);

// Returns for each layer whether it is of the first of the two kinds that a family has, where
// layer_types names each layer's kind. Throws (kFile) where it names too few, (kUnsupported) where
// it names another kind: `runs` says which ones there are.
std::optional<std::vector<bool>> layers_of_kind(const HfReading& reading, std::string_view kind,
                                                std::string_view other, const char* runs);
// Returns for each layer whether it has a window, by layer_types, else by the family's period.
std::vector<bool> sliding_layers(const HfReading& reading);

}  // namespace hearth
