// Reads config.json by a family's rows of keys (formats/hf_family.h). Errors: those of
// formats/hf_config.h.
#pragma once

#include "formats/hf_config.h"

namespace hearth {

void read_hf_keys(const HfSets<HfKey>& sets, const HfReading& reading);

}  // namespace hearth
