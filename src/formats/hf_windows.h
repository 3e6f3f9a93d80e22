// Reads sliding windows from the config.json of a Hugging Face model, by the rules of its family
// (HfWindows): sets attention.sliding_window if a layer has a window. If layers differ, also sets
// attention.sliding_window_pattern: a bool for each layer, true with a window.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "formats/hf_config.h"

namespace hearth {

void read_hf_windows(const HfReading& reading);

// Returns for each layer whether it is of `kind`, by layer_types, whose only other value is
// `other`; none if the file has no layer_types. Throws (kFile) if it names too few layers,
// (kUnsupported) if it names a third kind: `runs` says which ones this program runs.
std::optional<std::vector<bool>> layers_of_kind(const HfReading& reading, std::string_view kind,
                                                std::string_view other, const char* runs);
// Returns for each layer whether it has a window, by layer_types, else by the family's period.
std::vector<bool> sliding_layers(const HfReading& reading);

}  // namespace hearth
